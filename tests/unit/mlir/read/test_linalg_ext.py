"""Ops of iree_linalg_ext are read as op kinds, or stay with a reason."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.extensions.scan import Scan
from layoutopt.ir.graph import Graph, Opaque
from layoutopt.ir.layout import Layout
from layoutopt.ir.size import Size
from layoutopt.oracle import evaluate_bounded
from layoutopt.rules.propagation import propagate
from tests.parsing import lifted, through_text

ROWS = "tensor<4x6x8xi64>"
ROW = "tensor<4x8xi64>"


def scan(body: str) -> Graph:
    return lifted(f"""func.func @f(%x: {ROWS}, %s: {ROW}) -> ({ROWS}, {ROW}) {{
  %e = tensor.empty() : {ROWS}
  %r, %l = iree_linalg_ext.scan dimension(1) inclusive(false)
    ins(%x : {ROWS}) outs(%e, %s : {ROWS}, {ROW}) {{
    ^bb0(%a: i64, %b: i64):
      %c = {body} : i64
      iree_linalg_ext.yield %c : i64
    }} -> {ROWS}, {ROW}
  return %r, %l : {ROWS}, {ROW}
}}""")


def reason(graph: Graph) -> str:
    (opaque,) = (op for op in graph.ops if isinstance(op, Opaque))
    return opaque.reason


def test_a_scan_is_read() -> None:
    (op,) = scan("arith.maxsi %b, %a").ops
    assert op == Scan((0, 1), (2, 3), 1, "arith.maxsi", inclusive=False)


def test_a_scan_that_depends_on_the_order_of_its_arguments_stays() -> None:
    assert reason(scan("arith.subi %a, %b")) == (
        "expected a sum, a product or an extreme of i64, but got another region"
    )
    assert "another region" in reason(scan("arith.addi %a, %a"))


def test_positions_of_an_open_number_of_tokens_are_a_scan() -> None:
    """As exporters count positions: a running sum of the attention mask."""
    open_ = "tensor<1x?xi64>"
    graph = lifted(f"""func.func @f(%x: {open_}) -> {open_} {{
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %n = tensor.dim %x, %one : {open_}
  %e = tensor.empty(%n) : {open_}
  %l = tensor.empty() : tensor<1xi64>
  %s = linalg.fill ins(%zero : i64) outs(%l : tensor<1xi64>) -> tensor<1xi64>
  %r:2 = iree_linalg_ext.scan dimension(1) inclusive(true)
    ins(%x : {open_}) outs(%e, %s : {open_}, tensor<1xi64>) {{
    ^bb0(%a: i64, %b: i64):
      %c = arith.addi %a, %b : i64
      iree_linalg_ext.yield %c : i64
    }} -> {open_}, tensor<1xi64>
  return %r#0 : {open_}
}}""")
    assert not any(isinstance(op, Opaque) for op in graph.ops)
    (op,) = (op for op in graph.ops if isinstance(op, Scan))
    assert isinstance(op.terms(graph.types), Size)
    assert "tensor.empty(%n_" in op.emit(graph.types)[0]
    assert any(isinstance(o, Scan) for o in through_text(graph).ops)


MAPS = {"q": "(b, m, c)", "k": "(b, l, c)", "v": "(b, l, n)", "s": "()", "y": "(b, m, n)"}


def attention(
    region: str = "iree_linalg_ext.yield %p : f32",
    scale: str = "%s = arith.constant 0.125 : f16",
    maps: dict[str, str] | None = None,
) -> Graph:
    texts = (f"affine_map<(b, m, n, c, l) -> {t}>" for t in (maps or MAPS).values())
    return lifted(f"""func.func @f(%q: tensor<2x6x8xf16>, %k: tensor<2x10x8xf16>,
    %v: tensor<2x10x4xf16>, %given: f16) -> tensor<2x6x4xf16> {{
  {scale}
  %e = tensor.empty() : tensor<2x6x4xf16>
  %y = iree_linalg_ext.attention <indexing_maps = [{", ".join(texts)}]>
    ins(%q, %k, %v, %s : tensor<2x6x8xf16>, tensor<2x10x8xf16>, tensor<2x10x4xf16>, f16)
    outs(%e : tensor<2x6x4xf16>) {{
    ^bb0(%p: f32):
      {region}
    }} -> tensor<2x6x4xf16>
  return %y : tensor<2x6x4xf16>
}}""")


def test_attention_is_read() -> None:
    (op,) = attention().ops
    maps = ((0, 1, 3), (0, 4, 3), (0, 4, 2), (0, 1, 2))
    assert op == Attention((0, 1, 2), (3,), maps, "1.250000e-01 : f16")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"region": "%r = math.tanh %p : f32\niree_linalg_ext.yield %r : f32"}, "changes it"),
        ({"scale": "%s = arith.addf %given, %given : f16"}, "constant scale, but it is computed"),
        ({"scale": "%s = arith.constant 0x7E00 : f16"}, "constant scale, but it is computed"),
    ],
)
def test_attention_that_is_not_known_stays(given: dict[str, str], wanted: str) -> None:
    assert wanted in reason(attention(**given))  # type: ignore[arg-type]


def test_heads_stay_where_they_are_around_attention() -> None:
    """Projections leave heads inside of tokens: queries b, m, h, c."""
    (op, types) = Attention.examples()[1]
    found = propagate(op, types, 0, Layout((0, 2, 1, 3)))
    assert isinstance(found, dict)
    inner = Layout((0, 2, 1, 3))
    assert found == {0: inner, 1: inner, 2: inner, 3: Layout((0, 1)), 4: inner}


def test_the_bound_of_attention_in_f16_covers_its_roundings() -> None:
    graph = attention()
    rng = np.random.default_rng(0)
    values = {t: rng.standard_normal(graph.types[t].shape).astype("float16") for t in range(3)}
    found, errors = evaluate_bounded(graph, values)
    q, k, v = (values[t].astype("float64") for t in range(3))
    scores = np.einsum("bmc,blc->bml", q, k) / 8
    shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    (y,) = graph.outputs
    assert (np.abs(found[y] - shares @ v) <= errors[y]).all()
    assert errors[y].max() < 0.05
