"""Rows that are reduced, in whole subgroups of a GPU."""

from __future__ import annotations

import pytest

from layoutopt.candidates.packing.options import PackingOptions, packings
from layoutopt.candidates.packing.whole_subgroups import whole_columns, whole_subgroups
from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.ir.size import symbol

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
ADD = Body(("f32", "f32"), (ScalarOp("arith.addf", (0, 1), "f32"),), (2,))


def summed(rows: int, row: int, *, last: bool = True) -> Graph:
    """Sums of rows, or of columns."""
    builder = GraphBuilder()
    x, y = builder.tensor((rows, row), "f32"), builder.tensor((rows,), "f32")
    source, kinds = (plain_map((0, 1)), (P, R)) if last else (plain_map((1, 0)), (P, R))
    domain = (rows, row) if last else (row, rows)
    made = y if last else builder.tensor((row,), "f32")
    builder.add(
        Structured(
            (x,), (Fill("0.0 : f32"),), (made,), domain, kinds, (source, plain_map((0,))), ADD
        )
    )
    return builder.build((x,), (made,))


def reduction(graph: Graph) -> Structured:
    (op,) = graph.ops
    assert isinstance(op, Structured)
    return op


def test_the_innermost_dim_gets_a_tile_of_a_subgroup() -> None:
    graph = summed(5, 197)
    op = reduction(graph)
    assert list(whole_subgroups(op, graph.types, 64)) == [(0, Layout((0, 1), (1,), (64,)))]


@pytest.mark.parametrize("row", [64, 1536, 8, symbol("s", planned=197)])
def test_rows_that_need_none(row: int) -> None:
    """Of whole subgroups, of a few elements, of open size."""
    graph = summed(5, row)
    assert list(whole_subgroups(reduction(graph), graph.types, 64)) == []


def test_columns_are_summed_side_by_side_already() -> None:
    graph = summed(197, 50, last=False)
    assert list(whole_subgroups(reduction(graph), graph.types, 64)) == []


def product(columns: int) -> Graph:
    """``y[m, n] += x[m, k] * w[k, n]``."""
    builder = GraphBuilder()
    x, w = builder.tensor((16, 32), "f32"), builder.tensor((32, columns), "f32")
    y = builder.tensor((16, columns), "f32")
    builder.add(
        Structured(
            (x, w), (Fill("0.0 : f32"),), (y,), (16, columns, 32), (P, P, R),
            (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
            contraction_body("f32", "f32", "f32"),
        )
    )  # fmt: skip
    return builder.build((x, w), (y,))


def test_a_contraction_makes_whole_rows_from_padded_weights() -> None:
    graph = product(1000)
    (packing,) = whole_columns(reduction(graph), graph.types, 64)
    assert packing.lhs.is_row_major
    assert packing.rhs == packing.result == Layout((0, 1), (1,), (64,))
    found = packings(reduction(graph), graph.types, PackingOptions(subgroup=64), constant_rhs=True)
    assert {p.result.padding.value for p in found} >= {"any"}


def test_whole_rows_and_processors_need_no_padding() -> None:
    graph = product(1024)
    assert list(whole_columns(reduction(graph), graph.types, 64)) == []
    graph = product(1000)
    assert packings(reduction(graph), graph.types, PackingOptions(), constant_rhs=True) == ()
