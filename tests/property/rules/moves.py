"""Random graphs of one op that moves data."""

from __future__ import annotations

import math
from collections.abc import Callable

from hypothesis import strategies as st

from layoutopt.ir.graph import (
    Concat,
    Gather,
    Graph,
    GraphBuilder,
    Insert,
    Pad,
    Reshape,
    Scatter,
    Slice,
)


def _shape(draw: st.DrawFn, least: int = 1) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.sampled_from([1, 2, 4, 6]), min_size=least, max_size=4)))


@st.composite
def pads(draw: st.DrawFn) -> Graph:
    shape = _shape(draw)
    amounts = st.sampled_from([0, 0, 1, 2, 4])
    low, high = (tuple(draw(amounts) for _ in shape) for _ in range(2))
    builder = GraphBuilder()
    x = builder.tensor(shape, "f32")
    y = builder.tensor([a + n + b for a, n, b in zip(low, shape, high, strict=True)], "f32")
    value = draw(st.sampled_from(["0.0", "7.0"]))
    builder.add(Pad(x, y, low, high, f"{value} : f32"))
    return builder.build((x,), (y,))


def _ranges(
    draw: st.DrawFn, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    offsets, sizes, strides = [], [], []
    for n in shape:
        stride = draw(st.sampled_from([1, 1, 2, 3]))
        offset = draw(st.sampled_from([0, n // 2, n - 1]))
        offsets.append(offset)
        strides.append(stride)
        sizes.append(draw(st.integers(1, -(-(n - offset) // stride))))
    return tuple(offsets), tuple(sizes), tuple(strides)


@st.composite
def slices(draw: st.DrawFn) -> Graph:
    shape = _shape(draw)
    offsets, sizes, strides = _ranges(draw, shape)
    builder = GraphBuilder()
    x, y = builder.tensor(shape, "f32"), builder.tensor(sizes, "f32")
    builder.add(Slice(x, y, offsets, strides))
    return builder.build((x,), (y,))


@st.composite
def inserts(draw: st.DrawFn) -> Graph:
    shape = _shape(draw)
    offsets, sizes, strides = _ranges(draw, shape)
    builder = GraphBuilder()
    x, into, y = (builder.tensor(s, "f32") for s in (sizes, shape, shape))
    builder.add(Insert(x, into, y, offsets, strides))
    return builder.build((x, into), (y,))


@st.composite
def scatters(draw: st.DrawFn) -> Graph:
    """One source, or two that differ in their offset along one dim."""
    shape = _shape(draw)
    offsets, sizes, strides = _ranges(draw, shape)
    builder = GraphBuilder()
    x, y = (builder.tensor(s, "f32") for s in (sizes, shape))
    sources, places = [x], [offsets]
    wide = [d for d, s in enumerate(strides) if s > 1 and offsets[d] + s * sizes[d] <= shape[d]]
    paired = draw(st.booleans())
    if wide and paired:
        sources.append(builder.tensor(sizes, "f32"))
        places.append(tuple(o + (d == wide[0]) for d, o in enumerate(offsets)))
    builder.add(Scatter(tuple(sources), y, tuple(places), strides, "5.0 : f32"))
    return builder.build(sources, (y,))


@st.composite
def concats(draw: st.DrawFn) -> Graph:
    shape = _shape(draw)
    axis = draw(st.integers(0, len(shape) - 1))
    builder = GraphBuilder()
    pieces = [
        builder.tensor((*shape[:axis], draw(st.sampled_from([1, 2, 4])), *shape[axis + 1 :]), "i8")
        for _ in range(draw(st.integers(1, 3)))
    ]
    total = sum(builder.types[t].shape[axis] for t in pieces)
    y = builder.tensor((*shape[:axis], total, *shape[axis + 1 :]), "i8")
    builder.add(Concat(tuple(pieces), y, axis))
    return builder.build(pieces, (y,))


@st.composite
def reshapes(draw: st.DrawFn) -> Graph:
    shape = _shape(draw, 0)
    pieces = [f for n in shape for f in {1: [], 4: [2, 2], 6: [2, 3]}.get(n, [n])]
    while len(pieces) > 1 and draw(st.booleans()):
        at = draw(st.integers(0, len(pieces) - 2))
        pieces[at : at + 2] = [pieces[at] * pieces[at + 1]]
    for _ in range(draw(st.integers(0, 2))):
        pieces.insert(draw(st.integers(0, len(pieces))), 1)
    assert math.prod(pieces) == math.prod(shape)
    builder = GraphBuilder()
    x, y = builder.tensor(shape, "f32"), builder.tensor(pieces, "f32")
    builder.add(Reshape(x, y))
    return builder.build((x,), (y,))


@st.composite
def gathers(draw: st.DrawFn) -> Graph:
    """One dim of a table looked up; dims of the table and of the indices in any order."""
    table = _shape(draw)
    axis = draw(st.integers(0, len(table) - 1))
    counts = tuple(draw(st.lists(st.sampled_from([1, 2, 4, 6]), max_size=2)))
    kept = [n for d, n in enumerate(table) if d != axis]
    order = draw(st.permutations(range(len(kept) + len(counts))))
    sizes = [*kept, *counts]
    builder = GraphBuilder()
    w = builder.tensor(table, "f32")
    i = builder.tensor(counts, draw(st.sampled_from(["i32", "i64"])))
    y = builder.tensor((sizes[d] for d in order), "f32")
    place = [order.index(d) for d in range(len(sizes))]
    dims: list[int | None] = [*place[: len(kept)]]
    dims.insert(axis, None)
    builder.add(Gather(w, i, y, tuple(place[len(kept) :]), tuple(dims)))
    return builder.build((w, i), (y,))


MOVES: dict[str, Callable[[], st.SearchStrategy[Graph]]] = {
    "gather": gathers,
    "pad": pads,
    "slice": slices,
    "insert": inserts,
    "scatter": scatters,
    "concat": concats,
    "reshape": reshapes,
}
