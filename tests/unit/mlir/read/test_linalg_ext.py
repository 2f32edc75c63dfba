"""Ops of iree_linalg_ext are read as op kinds, or stay with a reason."""

from __future__ import annotations

from layoutopt.ir.extensions.scan import Scan
from layoutopt.ir.graph import Graph, Opaque
from layoutopt.ir.size import Size
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
