"""Ops of iree_linalg_ext are read as op kinds, or stay with a reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.extensions.fft import Fft
from layoutopt.ir.extensions.gather_by_index import GatherByIndex
from layoutopt.ir.extensions.scan import Scan
from layoutopt.ir.extensions.scatter_by_index import ScatterByIndex
from layoutopt.ir.extensions.sort import Sort
from layoutopt.ir.extensions.topk import TopK
from layoutopt.ir.graph import Graph, Opaque
from layoutopt.ir.layout import Layout
from layoutopt.ir.order import plain_order, total_order
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.size import Size
from layoutopt.oracle import evaluate_bounded
from layoutopt.rules.propagation import propagate
from layoutopt.verification.index_bounds import integers_of
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


KEYS = "tensor<3x7xf32>"
NUMBERS = "tensor<3x7xi32>"
BITS = """
      %u = arith.bitcast %a : f32 to i32
      %un = arith.cmpi slt, %u, %zero : i32
      %um = arith.subi %most, %u : i32
      %uk = arith.select %un, %um, %u : i32
      %v = arith.bitcast %b : f32 to i32
      %vn = arith.cmpi slt, %v, %zero : i32
      %vm = arith.subi %most, %v : i32
      %vk = arith.select %vn, %vm, %v : i32"""


def sort(region: str) -> Graph:
    return lifted(f"""func.func @f(%x: {KEYS}, %i: {NUMBERS}) -> ({KEYS}, {NUMBERS}) {{
  %zero = arith.constant 0 : i32
  %most = arith.constant 2147483647 : i32
  %y, %j = iree_linalg_ext.sort dimension(1) outs(%x, %i : {KEYS}, {NUMBERS}) {{
    ^bb0(%a: f32, %b: f32, %p: i32, %q: i32):
      {region}
      iree_linalg_ext.yield %c : i1
    }} -> {KEYS}, {NUMBERS}
  return %y, %j : {KEYS}, {NUMBERS}
}}""")


@pytest.mark.parametrize(
    ("region", "wanted"),
    [
        ("%c = arith.cmpf ogt, %a, %b : f32", (plain_order("f32", "ogt"), 0)),
        ("%c = arith.cmpf ogt, %b, %a : f32", (plain_order("f32", "olt"), 0)),
        ("%c = arith.cmpi ule, %p, %q : i32", (plain_order("i32", "ule"), 1)),
        (f"{BITS}\n%c = arith.cmpi slt, %uk, %vk : i32", (total_order("f32", 32), 0)),
        (
            "%d = arith.cmpf ogt, %a, %b : f32\n%e = arith.cmpf oeq, %a, %b : f32\n"
            "%g = arith.cmpi slt, %p, %q : i32\n%h = arith.andi %g, %e : i1\n"
            "%c = arith.ori %h, %d : i1",
            (plain_order("f32", "ogt"), 0, ((plain_order("i32", "slt"), 1),)),
        ),
    ],
)
def test_a_sort_is_read(region: str, wanted: tuple[object, ...]) -> None:
    graph = sort(region)
    assert graph.ops == (Sort((0, 1), (2, 3), 1, *wanted),)  # type: ignore[arg-type]
    assert through_text(graph).ops == graph.ops


@pytest.mark.parametrize(
    "region",
    [
        "%c = arith.cmpf oeq, %a, %b : f32",
        "%c = arith.cmpf olt, %a, %a : f32",
        "%n = arith.negf %a : f32\n%c = arith.cmpf olt, %n, %b : f32",
        "%d = arith.cmpf olt, %a, %b : f32\n%e = arith.cmpi slt, %p, %q : i32\n"
        "%c = arith.ori %d, %e : i1",
        "%d = arith.cmpf olt, %a, %b : f32\n%e = arith.cmpi eq, %p, %q : i32\n"
        "%g = arith.cmpi slt, %p, %q : i32\n%h = arith.andi %e, %g : i1\n"
        "%c = arith.ori %d, %h : i1",
        "%d = arith.cmpf ole, %a, %b : f32\n%e = arith.cmpf oeq, %a, %b : f32\n"
        "%g = arith.cmpi slt, %p, %q : i32\n%h = arith.andi %e, %g : i1\n"
        "%c = arith.ori %d, %h : i1",
    ],
)
def test_a_sort_by_anything_else_stays(region: str) -> None:
    assert (
        reason(sort(region))
        == "expected a region that compares one key after another, but got another"
    )


def test_among_equal_elements_of_a_sort_the_next_key_decides() -> None:
    graph = sort(
        "%d = arith.cmpf olt, %a, %b : f32\n%e = arith.cmpf oeq, %a, %b : f32\n"
        "%g = arith.cmpi sgt, %p, %q : i32\n%h = arith.andi %e, %g : i1\n"
        "%c = arith.ori %d, %h : i1"
    )
    values = {0: np.zeros((3, 7), "float32"), 1: np.tile(np.arange(7, dtype="int32"), (3, 1))}
    values[0][:, 5] = -1.0
    values[1][:, 4] = 3
    found, errors = evaluate_bounded(graph, values)
    assert found[3].tolist() == [[5, 6, 3, 3, 2, 1, 0]] * 3
    assert np.isinf(errors[3]).tolist() == [[False, False, True, True, False, False, False]] * 3


def test_equal_elements_of_a_sort_may_bring_any_of_their_numbers() -> None:
    graph = sort("%c = arith.cmpf olt, %a, %b : f32")
    values = {0: np.zeros((3, 7), "float32"), 1: np.tile(np.arange(7, dtype="int32"), (3, 1))}
    values[0][:, 0] = 1.0
    _, errors = evaluate_bounded(graph, values)
    assert 2 not in errors
    assert np.isinf(errors[3][:, :6]).all()
    assert (errors[3][:, 6] == 0).all()


def topk(region: str) -> Graph:
    made = ("tensor<3x2xf32>", "tensor<3x2xi32>")
    return lifted(f"""func.func @f(%x: {KEYS}) -> ({", ".join(made)}) {{
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : {made[0]}
  %d = tensor.empty() : {made[1]}
  %s = linalg.fill ins(%low : f32) outs(%e : {made[0]}) -> {made[0]}
  %t = linalg.fill ins(%zero : i32) outs(%d : {made[1]}) -> {made[1]}
  %y, %j = iree_linalg_ext.topk dimension(1) ins(%x : {KEYS}) outs(%s, %t : {", ".join(made)}) {{
    ^bb0(%a: f32, %b: f32):
      {region}
      iree_linalg_ext.yield %c : i1
    }} -> {", ".join(made)}
  return %y, %j : {", ".join(made)}
}}""")


def test_a_top_k_is_read() -> None:
    *_, op = topk("%c = arith.cmpf ogt, %a, %b : f32").ops
    assert isinstance(op, TopK)
    assert (op.dim, op.order) == (1, plain_order("f32", "ogt"))


def test_a_top_k_by_a_key_stays() -> None:
    region = "%n = math.absf %a : f32\n%m = math.absf %b : f32\n%c = arith.cmpf ogt, %n, %m : f32"
    assert reason(topk(region)) == "expected a region that compares elements, but got another"


def test_the_first_of_equal_elements_is_the_top() -> None:
    graph = topk("%c = arith.cmpf ogt, %a, %b : f32")
    rows = np.asarray([[1, 3, 3, 2, 3, 0, 0], [5, 4, 3, 2, 1, 0, -1], [-np.inf] * 7], "float32")
    found, errors = evaluate_bounded(graph, {0: rows})
    y, j = graph.outputs
    np.testing.assert_array_equal(found[y][:2], [[3, 3], [5, 4]])
    np.testing.assert_array_equal(found[j], [[1, 2], [0, 1], [0, 0]])
    assert not errors


def scatter(region: str, indices: str = "3x1", unique: str = "false") -> Graph:
    return lifted(f"""func.func @f(%u: tensor<3x8xf32>, %i: tensor<{indices}xi32>,
    %x: tensor<6x8xf32>) -> tensor<6x8xf32> {{
  %y = iree_linalg_ext.scatter dimension_map = [0] unique_indices({unique})
    ins(%u, %i : tensor<3x8xf32>, tensor<{indices}xi32>) outs(%x : tensor<6x8xf32>) {{
    ^bb0(%a: f32, %b: f32):
      {region}
    }} -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}}""")


ADDED = "%c = arith.addf %b, %a : f32\niree_linalg_ext.yield %c : f32"
PUT = "iree_linalg_ext.yield %a : f32"


def test_a_scatter_is_read() -> None:
    (op,) = scatter(ADDED).ops
    assert op == ScatterByIndex((0, 1, 2), (3,), (0,), "arith.addf", unique=False)
    (op,) = scatter(PUT, unique="true").ops
    assert op == ScatterByIndex((0, 1, 2), (3,), (0,), None, unique=True)
    assert not isinstance(scatter(PUT, indices="3").ops[0], Opaque), "one number an index"


def test_a_scatter_that_is_not_known_stays() -> None:
    kept = "iree_linalg_ext.yield %b : f32"
    assert reason(scatter(kept)) == (
        "expected a sum, a product or an extreme of f32, but got another region"
    )
    op, types = ScatterByIndex.examples()[0]
    partial = (replace(types[0], shape=(3, 4)), *types[1:])
    assert op.unknown(partial) == Refusal(
        "expected whole slices of the first dims, but got (0,) of (6, 5)"
    )
    indices = (types[0], replace(types[1], shape=(4, 1)), *types[2:])
    assert op.unknown(indices) == Refusal("expected an index for each slice, but got (4, 1)")


def test_positions_of_a_scatter_are_inputs_inside_of_its_tensor() -> None:
    graph = scatter(PUT)
    assert integers_of(graph, 1) == 6


def test_updates_that_come_twice_have_no_meaning_where_they_are_said_to_be_unique() -> None:
    values = {
        0: np.ones((3, 8), "float32"),
        1: np.asarray([[2], [4], [2]], "int32"),
        2: np.zeros((6, 8), "float32"),
    }
    _, errors = evaluate_bounded(scatter(PUT, unique="true"), values)
    assert np.isinf(errors[3][2]).all()
    assert (errors[3][[0, 1, 3, 4, 5]] == 0).all()
    found, errors = evaluate_bounded(scatter(ADDED), values)
    assert (found[3][2] == 2).all()
    assert errors[3].max() < 1e-5


@pytest.mark.parametrize(
    ("layout", "wanted"),
    [
        (Layout((1, 0)), "expected the first 1 dims of iree_linalg_ext.scatter outermost, but got"),
        (Layout((0, 1), (0,), (2,)), "expected the first 1 dims of iree_linalg_ext.scatter"),
        (Layout((0, 1), (1,), (4,)), ""),
    ],
)
def test_slices_of_a_scatter_are_tiled_and_what_is_looked_up_is_not(
    layout: Layout, wanted: str
) -> None:
    graph = scatter(PUT)
    found = propagate(graph.ops[0], graph.types, 2, layout)
    assert found.reason.startswith(wanted) if isinstance(found, Refusal) else not wanted


def test_a_gather_is_read() -> None:
    graph = lifted("""func.func @f(%x: tensor<6x8xf32>, %i: tensor<3x1xi64>) -> tensor<3x8xf32> {
  %e = tensor.empty() : tensor<3x8xf32>
  %y = iree_linalg_ext.gather dimension_map = [0]
    ins(%x, %i : tensor<6x8xf32>, tensor<3x1xi64>) outs(%e : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}""")
    assert graph.ops == (GatherByIndex((0, 1), (2,), (0,)),)
    assert integers_of(graph, 1) == 6


def test_stages_of_a_fourier_transform_are_read() -> None:
    """All of them make one, of numbers in the order of their reversed bits."""
    part = "tensor<2x4xf32>"
    graph = lifted(f"""func.func @f(%r: {part}, %i: {part}) -> ({part}, {part}) {{
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %p = arith.constant dense<1.0> : tensor<1xf32>
  %q = arith.constant dense<0.0> : tensor<1xf32>
  %s = arith.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %t = arith.constant dense<[0.0, -1.0]> : tensor<2xf32>
  %a, %b = iree_linalg_ext.fft ins(%one, %p, %q : index, tensor<1xf32>, tensor<1xf32>)
    outs(%r, %i : {part}, {part}) : {part}, {part}
  %c, %d = iree_linalg_ext.fft ins(%two, %s, %t : index, tensor<2xf32>, tensor<2xf32>)
    outs(%a, %b : {part}, {part}) : {part}, {part}
  return %c, %d : {part}, {part}
}}""")
    first, second = (op for op in graph.ops if isinstance(op, Fft))
    assert (first.stage, second.stage, second.sources[:2]) == (1, 2, first.results)
    numbers = np.random.default_rng(0).standard_normal((2, 4)).astype("float32")
    given = {0: numbers[:, [0, 2, 1, 3]], 1: np.zeros((2, 4), "float32")}
    factors = ([1], [0], [1, 0], [0, -1])
    tensors = (*first.sources[2:], *second.sources[2:])
    given |= {t: np.asarray(f, "float32") for t, f in zip(tensors, factors, strict=True)}
    found, errors = evaluate_bounded(graph, given)
    real, imaginary = graph.outputs
    apart = np.abs(found[real] + 1j * found[imaginary] - np.fft.fft(numbers.astype("float64")))
    assert (apart <= errors[real] + errors[imaginary]).all()
    assert errors[real].max() < 1e-4
