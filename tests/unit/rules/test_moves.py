"""Layouts through ops that move data: where the last tile of a dim is filled up."""

from __future__ import annotations

import pytest

from layoutopt.ir.graph import Graph, GraphBuilder, Insert, Reshape, Slice
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.propagation import propagate


def sliced(whole: int, offset: int, size: int) -> Graph:
    g = GraphBuilder()
    x, y = g.tensor((whole, 3), "f32"), g.tensor((size, 3), "f32")
    g.add(Slice(x, y, (offset, 0), (1, 1)))
    return g.build((x,), (y,))


def inserted(whole: int, offset: int, size: int) -> Graph:
    g = GraphBuilder()
    x, into, y = (g.tensor((n, 3), "f32") for n in (size, whole, whole))
    g.add(Insert(x, into, y, (offset, 0), (1, 1)))
    return g.build((x, into), (y,))


@pytest.mark.parametrize(("offset", "size"), [(4, 6), (8, 2), (0, 10), (4, 4), (0, 4)])
def test_a_part_may_end_with_a_tile_or_with_the_tensor(offset: int, size: int) -> None:
    rows = Layout((0, 1), (0,), (4,))
    for graph in (sliced(10, offset, size), inserted(10, offset, size)):
        every = dict.fromkeys(range(len(graph.types)), rows)
        assert propagate(graph.ops[0], graph.types, 0, rows) == every


@pytest.mark.parametrize(("offset", "size"), [(4, 2), (0, 6), (2, 8), (2, 4)])
def test_a_part_that_cuts_a_tile_is_refused(offset: int, size: int) -> None:
    rows = Layout((0, 1), (0,), (4,))
    parts = {"a slice": sliced, "an insert": inserted}
    for name, part in parts.items():
        graph = part(10, offset, size)
        assert propagate(graph.ops[0], graph.types, 0, rows) == Refusal(
            f"expected {name} of whole tiles of 4 along dim 0, but got offset {offset} size {size} "
            "stride 1"
        )


def reshaped(here: tuple[int, ...], there: tuple[int, ...], layout: Layout) -> Layout | Refusal:
    """The layout of the result."""
    g = GraphBuilder()
    x, y = g.tensor(here, "f32"), g.tensor(there, "f32")
    g.add(Reshape(x, y))
    found = propagate(g.ops[0], tuple(g.types), x, layout)
    return found if isinstance(found, Refusal) else found[y]


ROWS = Layout((0, 1), (0,), (4,), Padding.ONE)


@pytest.mark.parametrize(
    ("here", "there", "layout", "wanted"),
    [
        ((6, 4), (6, 2, 2), ROWS, Layout((0, 1, 2), (0,), (4,), Padding.ONE)),
        ((6, 4), (3, 2, 4), ROWS, None),
        ((2,), (2, 1, 1), Layout((0,), (0,), (3,)), Layout((0, 1, 2), (0,), (3,))),
        ((1, 2), (2,), Layout((1, 0), (1,), (4,)), Layout((0,), (0,), (4,))),
        ((1, 3), (3,), Layout((0, 1), (0,), (4,)), None),
    ],
    ids=["beside", "through", "unit dims more", "unit dims less", "a tile of a unit dim"],
)
def test_a_padded_dim_passes_a_reshape_whole(
    here: tuple[int, ...], there: tuple[int, ...], layout: Layout, wanted: Layout | None
) -> None:
    found = reshaped(here, there, layout)
    assert found == wanted if wanted is not None else isinstance(found, Refusal)
