"""Indices computed from one loop: what they read is found from their values."""

import numpy as np
import pytest

from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import Constant, Graph, Opaque, Reshape, Structured
from layoutopt.ir.types import Array
from layoutopt.oracle import evaluate
from tests.parsing import lifted, through_text
from tests.property.layouts import small_integers
from tests.resizing import resizing

T = "tensor<2x3x4xf32>"


def value_of(graph: Graph) -> tuple[Array, Array]:
    """The first input, and what the graph makes of all of them."""
    leaves = [op.result for op in graph.ops if isinstance(op, Constant)]  # what is not read
    values = {t: small_integers(graph.types[t], t) for t in (*graph.inputs, *leaves)}
    return values[graph.inputs[0]], evaluate(graph, values)[graph.outputs[0]]


def repeated(x: Array) -> Array:
    return x.repeat(2, axis=2).repeat(3, axis=3)


def test_a_resize_by_whole_factors_is_a_copy_and_a_reshape() -> None:
    graph = lifted(resizing())
    copy, reshape = graph.ops
    assert isinstance(copy, Structured)
    assert copy.is_copy
    assert copy.domain == (1, 5, 4, 2, 3, 3)
    assert isinstance(reshape, Reshape)
    x, found = value_of(graph)
    assert np.array_equal(found, repeated(x))


def test_a_resize_survives_writing_and_reading() -> None:
    x, found = value_of(through_text(lifted(resizing())))
    assert np.array_equal(found, repeated(x))


def test_what_else_the_op_reads_is_split_too() -> None:
    graph = lifted(resizing(added=True))
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    x, y = (values[t] for t in graph.inputs)
    assert np.array_equal(evaluate(graph, values)[graph.outputs[0]], repeated(x) + y)


@pytest.mark.parametrize("changed", [{"height": 9}, {"other": 4.0}, {"looked_at": True}])
def test_what_is_no_resize_by_one_whole_factor_computes_its_reads(
    changed: dict[str, int | float | bool],
) -> None:
    graph = lifted(resizing(**changed))  # type: ignore[arg-type]
    assert isinstance(graph.ops[-1], ComputedReads)
    _, found = value_of(graph)
    assert np.array_equal(found, value_of(through_text(graph))[1])


def row(number: str, rows: int = 1) -> str:
    """``x[0, number, :]`` by an index that is a constant tensor, as exporters write it."""
    made = f"tensor<1x{rows}x4xf32>"
    return f"""func.func @f(%x: {T}) -> {made} {{
      %c0 = arith.constant 0 : index
      %number = arith.constant dense<{number}> : tensor<{rows}xi64>
      %e = tensor.empty() : {made}
      %r = linalg.generic {{indexing_maps = [affine_map<(a, b, c) -> (b)>,
          affine_map<(a, b, c) -> (a, b, c)>],
          iterator_types = ["parallel", "parallel", "parallel"]}}
          ins(%number : tensor<{rows}xi64>) outs(%e : {made}) {{
      ^bb0(%n: i64, %o: f32):
        %i = arith.index_cast %n : i64 to index
        %k = linalg.index 2 : index
        %v = tensor.extract %x[%c0, %i, %k] : {T}
        linalg.yield %v : f32
      }} -> {made}
      return %r : {made}
    }}"""


def test_a_constant_row_is_a_copy() -> None:
    graph = lifted(row("2"))
    assert isinstance(graph.ops[-1], Structured)
    assert graph.ops[-1].is_copy
    x, found = value_of(graph)
    assert np.array_equal(found, x[:1, 2:3])


def test_a_constant_row_outside_the_tensor_is_left_alone() -> None:
    op = lifted(row("3")).ops[-1]
    assert isinstance(op, Opaque)
    assert op.reason == "expected reads inside the tensor, but dim 1 reads 3 to 3"


def test_rows_that_differ_are_read_at_computed_places() -> None:
    assert isinstance(lifted(row("[0, 2]", rows=2)).ops[-1], ComputedReads)


def front(size: int) -> str:
    """The first ``size`` rows of x, read by their number."""
    made = f"tensor<2x{size}x4xf32>"
    return f"""func.func @f(%x: {T}) -> {made} {{
      %e = tensor.empty() : {made}
      %r = linalg.generic {{indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>],
          iterator_types = ["parallel", "parallel", "parallel"]}} outs(%e : {made}) {{
      ^bb0(%o: f32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %k = linalg.index 2 : index
        %v = tensor.extract %x[%i, %j, %k] : {T}
        linalg.yield %v : f32
      }} -> {made}
      return %r : {made}
    }}"""


def test_a_read_of_the_first_row_has_a_map() -> None:
    graph = lifted(front(1))
    x, found = value_of(graph)
    assert np.array_equal(found, x[:, :1])
    assert through_text(graph).ops == graph.ops


def test_a_read_of_the_first_rows_has_no_map() -> None:
    graph = lifted(front(2))
    assert isinstance(graph.ops[-1], ComputedReads)
    x, found = value_of(graph)
    assert np.array_equal(found, x[:, :2])
