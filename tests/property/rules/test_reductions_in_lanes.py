"""Reductions in lanes compute what they did, and rows that lanes do not divide stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.candidates.reductions_in_lanes import in_lanes
from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.oracle import evaluate
from tests.parsing import verified
from tests.property.layouts import assert_close, small_integers
from tests.property.rules.ops import STRUCTURED, long_rows

NONE = Refusal("expected rows that 32 or 16 lanes reduce, but got none")


def assert_same(graph: Graph, found: Graph) -> None:
    verified(found)
    assert (found.inputs, found.outputs) == (graph.inputs, graph.outputs)
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    here, there = evaluate(graph, values), evaluate(found, values)
    for tensor in graph.outputs:
        assert there[tensor].dtype == here[tensor].dtype
        assert_close(there[tensor], here[tensor])


@pytest.mark.parametrize("kind", STRUCTURED)
@given(data=st.data())
@settings(max_examples=25)
def test_any_op_computes_the_same(kind: str, data: st.DataObject) -> None:
    graph = data.draw(STRUCTURED[kind]())
    found = in_lanes(graph, lanes=(3, 2), steps=1)
    if isinstance(found, Graph):
        assert_same(graph, found)


@given(long_rows())
@settings(max_examples=60)
def test_long_rows_are_reduced_in_as_many_lanes_as_divide_them(graph: Graph) -> None:
    (op,) = (op for op in graph.ops if isinstance(op, Structured))
    found = in_lanes(graph)
    row = op.domain[-1]
    lanes = next((n for n in (32, 16) if row % n == 0 and row >= 4 * n), None)
    if lanes is None:
        assert found == NONE
        return
    assert isinstance(found, Graph)
    assert_same(graph, found)
    partial, whole = (op for op in found.ops if isinstance(op, Structured))
    assert (partial.domain[-1], whole.domain[-1]) == (lanes, lanes)
    assert partial.iterators[-1] is IteratorType.PARALLEL


def row(
    columns: int = 128,
    source: tuple[int, ...] = (0, 1),
    init: Fill | Uninitialized = Fill("0.0 : f32"),  # noqa: B008
    body: Body | None = None,
    margin: int = 0,
) -> Graph:
    """The sum of each of three rows, read through a map; ``margin``: what it leaves of one."""
    builder = GraphBuilder()
    domain = (3, columns)
    x = builder.tensor(tuple(domain[d] + margin * d for d in source), "f32")
    y = builder.tensor((3,), "f32")
    parallel, reduction = IteratorType.PARALLEL, IteratorType.REDUCTION
    maps = (plain_map(source), plain_map((0,)))
    body = body or Body(("f32", "f32"), (ScalarOp("arith.addf", (0, 1), "f32"),), (2,))
    builder.add(Structured((x,), (init,), (y,), domain, (parallel, reduction), maps, body))
    return builder.build((x,), (y,))


def test_rows_of_neighbours_alone_are_in_lanes() -> None:
    found = in_lanes(row())
    assert isinstance(found, Graph)
    assert [op.domain for op in found.ops if isinstance(op, Structured)] == [(3, 4, 32), (3, 32)]
    less = Body(("f32", "f32"), (ScalarOp("arith.subf", (0, 1), "f32"),), (2,))
    for graph in (
        row(columns=126),
        row(columns=48),
        row(source=(1, 0)),  # neighbours are of other rows
        row(source=(1,)),  # as many partial results as operands
        row(init=Uninitialized()),
        row(margin=32),
        row(body=less),
    ):
        assert in_lanes(graph) == NONE


def test_maps_are_those_of_the_rows() -> None:
    found = in_lanes(row())
    assert isinstance(found, Graph)
    partial, whole = (op for op in found.ops if isinstance(op, Structured))
    assert partial.maps == (plain_map((0, 1, 2)), plain_map((0, 2)))
    assert whole.maps == (identity_map(2), plain_map((0,)))
