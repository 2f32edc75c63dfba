"""Rows of open size that are reduced, in whole vectors of a CPU."""

from __future__ import annotations

import pytest

from layoutopt.candidates.explore import explore
from layoutopt.candidates.packing.whole_vectors import whole_vectors
from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.size import Size, symbol
from layoutopt.options import Objective
from layoutopt.profiles.target import load_target

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
OPEN = symbol("s", planned=128)


def reduced(row: int | Size, combiner: str = "arith.addf", *, last: bool = True) -> Graph:
    """Rows that are reduced, or columns."""
    builder = GraphBuilder()
    x, y = builder.tensor((5, row), "f32"), builder.tensor((5 if last else row,), "f32")
    body = Body(("f32", "f32"), (ScalarOp(combiner, (0, 1), "f32"),), (2,))
    source = plain_map((0, 1) if last else (1, 0))
    domain = (5, row) if last else (row, 5)
    maps = (source, plain_map((0,)))
    builder.add(Structured((x,), (Fill("0.0 : f32"),), (y,), domain, (P, R), maps, body))
    return builder.build((x,), (y,))


def found(graph: Graph) -> list[tuple[int, Layout]]:
    (op,) = graph.ops
    assert isinstance(op, Structured)
    return list(whole_vectors(op, graph.types, 16))


@pytest.mark.parametrize(
    ("combiner", "padding"),
    [
        ("arith.addf", Padding.ZERO),
        ("arith.mulf", Padding.ONE),
        ("arith.maximumf", Padding.LOWEST),
        ("arith.minimumf", Padding.HIGHEST),
        ("arith.subf", Padding.ANY),
    ],
)
def test_padding_changes_nothing_in_the_reduction(combiner: str, padding: Padding) -> None:
    tiled = Layout((0, 1), (1,), (16,), padding)
    assert found(reduced(OPEN, combiner)) == [(0, tiled)]


@pytest.mark.parametrize("row", [128, 197, symbol("t", 1, 64, divisor=16, planned=32)])
def test_rows_of_known_length_and_of_whole_vectors_stay(row: int | Size) -> None:
    assert found(reduced(row)) == []


def test_columns_are_summed_side_by_side_already() -> None:
    assert found(reduced(OPEN, last=False)) == []


@pytest.mark.parametrize(
    ("target", "lanes"), [("x86-64-avx2", 16), ("x86-64-avx512", 32), ("mi355x", None)]
)
def test_two_vectors_of_each_cpu(target: str, lanes: int | None) -> None:
    space = explore(reduced(OPEN), load_target(target), Objective.LATENCY)
    tiles = {x.inner_tiles for c in space.candidates for t, x in c.layouts if t == 0}
    assert tiles == {()} | (set() if lanes is None else {(lanes,)})
