"""Which tensors repeat elements of smaller ones, and which only look so."""

from __future__ import annotations

import pytest

from layoutopt.ir.affine import IndexMap, affine, identity_map, plain_map
from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Reshape, Structured, Uninitialized
from layoutopt.ir.scalar import copy_body
from layoutopt.rules.rewrites.repeats import repeated

Shape = tuple[int, ...]


def spread(source: Shape, read: IndexMap, wide: Shape, merged: Shape) -> tuple[Graph, int]:
    """A copy of a tensor into more dims, and these merged; the last tensor."""
    builder = GraphBuilder()
    x, y = builder.tensor(source, "f32"), builder.tensor(wide, "f32")
    kinds = (IteratorType.PARALLEL,) * len(wide)
    maps = (read, identity_map(len(wide)))
    builder.add(Structured((x,), (Uninitialized(),), (y,), wide, kinds, maps, copy_body("f32")))
    z = builder.tensor(merged, "f32")
    builder.add(Reshape(y, z))
    return builder.build((x,), (z,)), z


@pytest.mark.parametrize(
    ("source", "read", "wide", "merged", "found"),
    [
        ((2, 5), plain_map((0, 2)), (2, 3, 5), (6, 5), (0, (2, 3), 0)),
        ((2, 5), plain_map((1, 2)), (3, 2, 5), (6, 5), (0, (3, 2), 1)),
        ((1, 2, 5), (*plain_map((0, 1)), *plain_map((3,))), (1, 2, 3, 5), (6, 5), (0, (2, 3), 0)),
        ((2, 1, 5), (affine([(0, 1)]), affine([]), affine([(2, 1)])), (2, 3, 5), (6, 5),
         (0, (2, 3), 0)),
        ((5,), plain_map((1,)), (3, 5), (15,), (0, (3, 5), 1)),
        ((2, 2), plain_map((0, 0)), (2, 3, 1), (6, 1), None),  # the diagonal
        ((5, 2), plain_map((2, 0)), (2, 3, 5), (6, 5), None),  # transposed as well
        ((2, 5), plain_map((0, 2)), (2, 3, 5), (2, 15), (1, (3, 5), 1)),
        ((2, 5), plain_map((0, 3)), (2, 3, 4, 5), (6, 20), None),  # along two dims
    ],
)  # fmt: skip
def test_repetitions_along_one_dim(
    source: Shape,
    read: IndexMap,
    wide: Shape,
    merged: Shape,
    found: tuple[int, tuple[int, int], int] | None,
) -> None:
    graph, tensor = spread(source, read, wide, merged)
    ways = [(r.axis, r.parts, r.own) for r in repeated(graph, tensor)]
    assert ways == ([] if found is None else [found])
