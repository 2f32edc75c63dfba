"""Elements that a short loop chooses among tensors: one op with all of the loop in its tile."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from layoutopt.candidates.chosen_parts import with_parts_in_one_tile
from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.schedule import VectorTile
from layoutopt.oracle import evaluate
from layoutopt.rules.rewrites.separable import selection_body

P = IteratorType.PARALLEL
TILE = VectorTile(6, 8, panels=2)


def side_by_side(
    channels: int = 16, tile: int = 2, *, channels_outside: bool = False, cut: bool = False
) -> Graph:
    """``y[3 * tile, 5 * tile, c]`` of tile x tile tensors of 3 x 5, and a bias by channel."""
    g = GraphBuilder()
    shape = (channels, 3, 5) if channels_outside else (3, 5, channels)
    h, w = (1, 3) if channels_outside else (0, 2)
    sizes = [channels, 3, tile, 5, tile] if channels_outside else [3, tile, 5, tile, channels]
    whole = [channels, 3 * tile, 5 * tile] if channels_outside else [3 * tile, 5 * tile, channels]
    parts = [g.tensor(shape, "f32") for _ in range(tile * tile)]
    bias = g.tensor((channels,), "f32")
    tiled, y, z = g.tensor(sizes, "f32"), g.tensor(whole, "f32"), g.tensor(whole, "f32")
    indices = [(p, q) for p in range(tile) for q in range(tile)]
    outer = [d for d in range(5) if d not in (h + 1, w + 1)]
    maps = (*(plain_map(outer),) * len(parts), identity_map(5))
    body = selection_body(indices, {0: h + 1, 1: w + 1}, "f32")
    init = (Uninitialized(),)
    g.add(Structured(tuple(parts), init, (tiled,), tuple(sizes), (P,) * 5, maps, body))
    g.add(Reshape(tiled, y))
    added = Body(("f32",) * 3, (ScalarOp("arith.addf", (0, 1), "f32"),), (3,))
    per_channel = plain_map([0 if channels_outside else 2])
    maps = identity_map(3), per_channel, identity_map(3)
    g.add(Structured((y, bias), init, (z,), tuple(whole), (P,) * 3, maps, added))
    if not cut:
        return g.build((*parts, bias), (z,))
    part = g.tensor([n - 1 for n in whole], "f32")
    g.add(Slice(z, part, (0, 0, 0), (1, 1, 1)))
    return g.build((*parts, bias), (part,))


def inputs(graph: Graph) -> Mapping[int, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    rng = np.random.default_rng(0)
    return {t: rng.random(graph.types[t].shape, np.float32) for t in graph.inputs}


@pytest.mark.parametrize(
    ("graph", "vector"),
    [
        pytest.param(side_by_side(), (1, 2, 1, 2, 8), id="pairs of rows and of columns"),
        pytest.param(side_by_side(tile=4), (1, 4, 1, 4, 8), id="four of each"),
        pytest.param(side_by_side(12), (1, 2, 1, 2, 4), id="half a vector of channels"),
    ],
)
def test_what_is_put_side_by_side_is_in_one_tile(graph: Graph, vector: tuple[int, ...]) -> None:
    found = with_parts_in_one_tile(graph, TILE)
    (op,) = (op for op in found.ops if isinstance(op, Structured))
    assert op.schedule is not None
    assert op.schedule.vector == vector
    assert op.schedule.distribution[0] == op.domain[0]
    given = inputs(graph)
    for made, wanted in zip(found.outputs, graph.outputs, strict=True):
        np.testing.assert_array_equal(evaluate(found, given)[made], evaluate(graph, given)[wanted])


def test_threads_share_the_outermost_loop() -> None:
    found = with_parts_in_one_tile(side_by_side(), VectorTile(6, 8, threads=3, panels=2))
    (op,) = (op for op in found.ops if isinstance(op, Structured))
    assert op.schedule is not None
    assert op.schedule.distribution == (1, *op.domain[1:])


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(side_by_side(channels_outside=True), id="columns innermost"),
        pytest.param(side_by_side(13), id="channels that no vector divides"),
        pytest.param(side_by_side(cut=True), id="cut off behind it"),
    ],
)
def test_others_are_as_they_were(graph: Graph) -> None:
    assert with_parts_in_one_tile(graph, TILE) is graph
