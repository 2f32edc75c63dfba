"""Where a contraction of quantized tensors stays as it is, and what its correction holds."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Graph, Structured, kind_name
from layoutopt.ir.size import symbols
from layoutopt.ir.types import Array
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from layoutopt.rules.rule import Exactness
from tests.parsing import lifted

EXACT = (Exactness.BIT_EXACT, Exactness.REASSOCIATES)

MATMUL = """
#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
#k = affine_map<(i, j, k) -> (k)>
#j = affine_map<(i, j, k) -> (j)>
func.func @f(%x: tensor<4xROWSxi8>, %w: tensor<ROWSx3xi8>, %z: tensor<ATxi8>, %s: tensor<f32>)
    -> tensor<4x3xTYPE> {
  %c = arith.constant ZERO : TYPE
  %e = tensor.empty() : tensor<4x3xTYPE>
  %f = linalg.fill ins(%c : TYPE) outs(%e : tensor<4x3xTYPE>) -> tensor<4x3xTYPE>
  %r = linalg.generic {indexing_maps = [#ik, #kj, MAP, #ij],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %z : tensor<4xROWSxi8>, tensor<ROWSx3xi8>, tensor<ATxi8>)
      outs(%f : tensor<4x3xTYPE>) {
  ^bb0(%a: i8, %b: i8, %n: i8, %o: TYPE):
    BODY
    %t = arith.ADD %o, %p : TYPE
    linalg.yield %t : TYPE
  } -> tensor<4x3xTYPE>
  return %r : tensor<4x3xTYPE>
}
"""
I32 = """%l = arith.extsi %a : i8 to i32
    %m = arith.extsi %b : i8 to i32
    %q = arith.extsi %n : i8 to i32
    %d = arith.subi %m, %q : i32
    %p = arith.muli %l, %d : i32"""
NARROW = """%l = arith.extsi %a : i8 to i32
    %d8 = arith.subi %b, %n : i8
    %d = arith.extsi %d8 : i8 to i32
    %p = arith.muli %l, %d : i32"""
F32 = """%l = arith.sitofp %a : i8 to f32
    %m = arith.extsi %b : i8 to i16
    %q = arith.extsi %n : i8 to i16
    %d = arith.subi %m, %q : i16
    %g = arith.sitofp %d : i16 to f32
    %p = arith.mulf %l, %g : f32"""


def matmul(body: str, rows: int = 5, at: str = "j", zero: str | None = None) -> Graph:
    """``sum(x * (w - z))`` with one zero point per column, or (``at="k"``) per row."""
    element = "f32" if body is F32 else "i32"
    text = MATMUL.replace("BODY", body).replace("ADD", "addf" if element == "f32" else "addi")
    text = text.replace("ZERO", zero or ("0.0" if element == "f32" else "0"))
    text = text.replace("MAP", f"#{at}").replace("ATx", f"{3 if at == 'j' else rows}x")
    return lifted(text.replace("TYPE", element).replace("ROWS", str(rows)))


def kinds(graph: Graph) -> list[str]:
    return [kind_name(op) for op in graph.ops]


@pytest.mark.parametrize("body", [I32, F32])
def test_one_zero_point_takes_one_sum(body: str) -> None:
    changed = canonical_form(matmul(body)).graph
    assert kinds(changed) == ["contraction", "reduction", "elementwise"]


@pytest.mark.parametrize(
    ("body", "rows", "at", "zero"),
    [
        (I32, 5, "k", None),  # the zero point differs along the sum
        (NARROW, 5, "j", None),  # the difference wraps around before it is widened
        (F32, 50_000, "j", None),  # 50000 * 128 * 383 does not fit 32 bits
        (F32, 5, "j", "1.0"),  # a sum of floats that starts from one
    ],
)
def test_what_is_not_equal_stays(body: str, rows: int, at: str, zero: str | None) -> None:
    graph = matmul(body, rows, at, zero)
    assert canonical_form(graph).graph is graph


def test_sums_of_integers_may_leave_32_bits() -> None:
    """They wrap around, on both sides."""
    changed = canonical_form(matmul(I32, rows=70_000)).graph
    assert kinds(changed) == ["contraction", "reduction", "elementwise"]


PADDED = """
#id = affine_map<(i, k) -> (i, k)>
func.func @f(%x: tensor<2x3xi8>, %w: tensor<5x4xi8>) -> tensor<2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %border = arith.constant BORDER : f32
  %n = arith.constant ZEROPOINT : i16
  %ex = tensor.empty() : tensor<2x3xf32>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x3xi8>) outs(%ex : tensor<2x3xf32>) {
  ^bb0(%a: i8, %o: f32):
    %l = arith.extsi %a : i8 to i16
    %m = arith.subi %l, %n : i16
    %g = arith.sitofp %m : i16 to f32
    linalg.yield %g : f32
  } -> tensor<2x3xf32>
  %p = tensor.pad %d low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %border : f32
  } : tensor<2x3xf32> to tensor<2x5xf32>
  %ew = tensor.empty() : tensor<5x4xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<5x4xi8>) outs(%ew : tensor<5x4xf32>) {
  ^bb0(%a: i8, %o: f32):
    %g = arith.sitofp %a : i8 to f32
    linalg.yield %g : f32
  } -> tensor<5x4xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %r = linalg.matmul ins(%p, %v : tensor<2x5xf32>, tensor<5x4xf32>)
      outs(%f : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
"""


@pytest.mark.parametrize(
    ("border", "zero_point", "fires"),
    [("0.0", "7", True), ("0.0", "0", True), ("7.0", "7", False), ("0.0", "200", False)],
)
def test_the_border_is_the_zero_point(border: str, zero_point: str, fires: bool) -> None:
    """Only zeros become it, and only where eight bits hold it."""
    graph = lifted(PADDED.replace("BORDER", border).replace("ZEROPOINT", zero_point))
    changed = canonical_form(graph).graph
    assert (changed is not graph) == fires
    integers = [op for op in changed.ops if isinstance(op, Structured) and op.is_contraction]
    assert (integers[0].body.arguments[0] == "i8") == fires
    rng = np.random.default_rng(0)
    values: dict[int, Array] = {
        t: rng.integers(-128, 128, graph.types[t].shape).astype(np.int8) for t in graph.inputs
    }
    here, there = evaluate(graph, values), evaluate(changed, values)
    assert np.array_equal(here[graph.outputs[0]], there[graph.outputs[0]])


@pytest.mark.parametrize(("body", "stays"), [(I32, False), (F32, True)], ids=["i32", "f32"])
def test_what_was_dequantized_may_be_left_alone(body: str, stays: bool) -> None:
    graph = matmul(body)
    assert canonical_form(graph).graph != graph
    assert (canonical_form(graph, EXACT).graph == graph) == stays


OPEN = """
#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
func.func @f(%x: tensor<4x?xi8>, %w: tensor<?x3xi8>) -> tensor<4x3xi32> {
  %c = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4x3xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<4x3xi32>) -> tensor<4x3xi32>
  %r = linalg.generic {indexing_maps = [#ik, #kj, #ij],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x?xi8>, tensor<?x3xi8>) outs(%f : tensor<4x3xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %five = arith.constant 5 : i32
    %two = arith.constant -2 : i32
    %l = arith.extsi %a : i8 to i32
    %m = arith.extsi %b : i8 to i32
    %u = arith.subi %l, %five : i32
    %v = arith.subi %m, %two : i32
    %p = arith.muli %u, %v : i32
    %t = arith.addi %o, %p : i32
    linalg.yield %t : i32
  } -> tensor<4x3xi32>
  return %r : tensor<4x3xi32>
}
"""


def test_as_many_zero_points_as_a_sum_of_open_length_has_are_counted_at_run_time() -> None:
    graph = lifted(OPEN)
    changed = canonical_form(graph).graph
    assert kinds(changed).count("contraction") == 1
    assert kinds(changed).count("reduction") == 3  # of a, of a + 1, of b
    constants = (s for op in changed.ops if isinstance(op, Structured) for s in op.body.ops)
    written = [s.attributes[0][1] for s in constants if s.name == "arith.constant"]
    assert all(value.split(" : ")[0].lstrip("-").isdecimal() for value in written)
    x, w = graph.inputs
    (symbol,) = (s.name for s in symbols(graph.types[x].shape[1]))
    rng = np.random.default_rng(11)
    for length in (1, 2, 9):
        a, b = (rng.integers(-128, 128, n, np.int8) for n in ((4, length), (length, 3)))
        expected, made = (
            evaluate(concrete(g, {symbol: length}), {x: a, w: b})[g.outputs[0]]
            for g in (graph, changed)
        )
        assert np.array_equal(expected, made)


def test_a_factor_that_is_the_same_along_an_open_sum_stays() -> None:
    """How often it counts would have to be known."""
    text = OPEN.replace("tensor<4x?xi8>", "tensor<4xi8>").replace("[#ik,", "[#i,")
    same = "#i = affine_map<(i, j, k) -> (i)>" + text
    assert kinds(canonical_form(lifted(same)).graph).count("contraction") == 0
