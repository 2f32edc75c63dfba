"""One tensor from one layout to another, as a graph over row-major tensors.

    untiled -> untiled    linalg.transpose
    untiled -> tiled      linalg.pack
    tiled   -> untiled    linalg.unpack
    tiled   -> tiled      reshape + transpose + reshape where the tiles split each other,
                          else linalg.unpack + linalg.pack

Where nothing moves it is a reshape. The same form is priced and written.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from layoutopt.affine import plain_map
from layoutopt.candidate import PhysicalForm
from layoutopt.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Op,
    Pack,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
    Unpack,
)
from layoutopt.layout import Layout, row_major, same_memory
from layoutopt.scalar import copy_body
from layoutopt.simplify import simplified
from layoutopt.types import TensorType, is_float


def conversion_form(graph: Graph, tensor: int, source: Layout, target: Layout) -> PhysicalForm:
    """The conversion of one tensor of ``graph``."""
    kind = graph.types[tensor]
    builder = GraphBuilder()
    start = builder.tensor(source.physical_shape(kind.shape), kind.element)
    end = builder.tensor(target.physical_shape(kind.shape), kind.element)
    if same_memory(kind.shape, source, target):
        builder.add(Reshape(start, end))
    elif source.is_tiled == target.is_tiled and _splits(kind.shape, source, target):
        _shuffle(builder, kind, source, target, start, end)
    elif not source.is_tiled:
        builder.add(Pack(start, end, _seen_from(target, source), _zero(kind, target)))
    elif not target.is_tiled:
        builder.add(Unpack(start, end, _seen_from(source, target)))
    else:
        between = builder.tensor(kind.shape, kind.element)
        builder.add(Unpack(start, between, source))
        builder.add(Pack(between, end, target, _zero(kind, target)))
    return PhysicalForm(simplified(builder.build((start,), (end,))), (start,), (), (end,))


def lower_packs(graph: Graph) -> Graph:
    """The same graph with reshapes and transposes (pads and slices) in place of packs."""
    builder = GraphBuilder(len(graph.types))
    ops: list[Op] = []
    for op in graph.ops:
        before = len(builder.ops)
        if isinstance(op, Pack):
            _lower_pack(builder, graph.types[op.source], op)
        elif isinstance(op, Unpack):
            _lower_unpack(builder, graph.types[op.result], op)
        ops += builder.ops[before:] or [op]
    return replace(graph, types=(*graph.types, *builder.types), ops=tuple(ops), names=())


def _lower_pack(builder: GraphBuilder, kind: TensorType, op: Pack) -> None:
    source, whole = op.source, _whole(kind, op.layout)
    if op.padding is not None and whole != kind:
        source = builder.tensor(whole.shape, whole.element)
        high = tuple(w - n for w, n in zip(whole.shape, kind.shape, strict=True))
        builder.add(Pad(op.source, source, (0,) * len(high), high, op.padding))
    _shuffle(builder, whole, row_major(len(kind.shape)), op.layout, source, op.result)


def _lower_unpack(builder: GraphBuilder, kind: TensorType, op: Unpack) -> None:
    whole = _whole(kind, op.layout)
    result = op.result if whole == kind else builder.tensor(whole.shape, whole.element)
    _shuffle(builder, whole, op.layout, row_major(len(kind.shape)), op.source, result)
    if result != op.result:
        zeros, ones = (0,) * len(kind.shape), (1,) * len(kind.shape)
        builder.add(Slice(result, op.result, zeros, ones))


def _whole(kind: TensorType, layout: Layout) -> TensorType:
    """The type padded up to whole tiles."""
    tiles = map(layout.tile_of, range(len(kind.shape)))
    return TensorType(
        tuple(-(-n // t) * t for n, t in zip(kind.shape, tiles, strict=True)), kind.element
    )


def _zero(kind: TensorType, layout: Layout) -> str | None:
    if not layout.pads(kind.shape):
        return None
    return f"{'0.0' if is_float(kind.element) else '0'} : {kind.element}"


def _seen_from(tiled: Layout, plain: Layout) -> Layout:
    """A tiled layout of the logical tensor as one of the tensor that lies in ``plain``."""
    place = plain.outer_dims_perm.index
    return Layout(
        tuple(map(place, tiled.outer_dims_perm)),
        tuple(map(place, tiled.inner_dims_pos)),
        tiled.inner_tiles,
    )


def _splits(shape: tuple[int, ...], *layouts: Layout) -> bool:
    """Whether of two tiles of one dim the larger is a multiple of the other, without padding."""
    tiles = [sorted(layout.tile_of(d) for layout in layouts) for d in range(len(shape))]
    return not any(layout.pads(shape) for layout in layouts) and all(
        large % small == 0 for small, large in tiles
    )


Piece = tuple[int, int]
"""Part of a dim: (dim, stride within the dim)."""


def _shuffle(
    builder: GraphBuilder, kind: TensorType, source: Layout, target: Layout, start: int, end: int
) -> None:
    """Reshape to the pieces that both layouts move as one, transpose, reshape back."""
    cuts = {
        d: sorted({1, n, *(x.tile_of(d) for x in (source, target))})
        for d, n in enumerate(kind.shape)
    }
    size = {(d, low): high // low for d, at in cuts.items() for low, high in itertools.pairwise(at)}
    before, after = (_pieces(layout, kind, cuts) for layout in (source, target))
    split = builder.tensor((size[p] for p in before), kind.element)
    moved = builder.tensor((size[p] for p in after), kind.element)
    builder.add(Reshape(start, split))
    rank = len(after)
    builder.add(
        Structured(
            (split,),
            (Uninitialized(),),
            (moved,),
            tuple(size[p] for p in after),
            (IteratorType.PARALLEL,) * rank,
            (plain_map(after.index(p) for p in before), plain_map(range(rank))),
            copy_body(kind.element),
        )
    )
    builder.add(Reshape(moved, end))
    assert math.prod(size.values()) == kind.elements


def _pieces(layout: Layout, kind: TensorType, cuts: dict[int, list[int]]) -> list[Piece]:
    """The pieces in the order in which they lie in memory."""
    found: list[Piece] = []
    for d in layout.outer_dims_perm:
        found += [(d, c) for c in reversed(cuts[d][:-1]) if c >= layout.tile_of(d)]
    for d, tile in zip(layout.inner_dims_pos, layout.inner_tiles, strict=True):
        found += [(d, c) for c in reversed(cuts[d][:-1]) if c < tile]
    return found
