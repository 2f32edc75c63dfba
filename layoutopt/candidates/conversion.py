"""One tensor from one layout to another, as a graph over row-major tensors.

    untiled -> untiled    linalg.transpose
    untiled -> tiled      linalg.pack
    tiled   -> untiled    linalg.unpack
    tiled   -> tiled      reshape + transpose + reshape where the tiles split each other,
                          a masked copy where only the padding has to change,
                          else linalg.unpack + linalg.pack

Where nothing moves it is a reshape. The same form is priced and written.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from layoutopt.candidates.candidate import PhysicalForm
from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.copy_folding import simplified
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Op,
    Pack,
    Reshape,
    Structured,
    Uninitialized,
    Unpack,
)
from layoutopt.ir.layout import ConversionKind, Layout, conversion_kind
from layoutopt.ir.packs_as_transposes import add_pack, add_unpack, stays_in_place
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.scalar import copy_body
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation import relayout


@dataclass(frozen=True, slots=True)
class Conversion:
    """A tensor that is made in one layout and read in another."""

    tensor: int
    source: Layout
    target: Layout

    def __str__(self) -> str:
        return f"t{self.tensor}: {self.source} to {self.target}"


def conversion_form(graph: Graph, conversion: Conversion) -> PhysicalForm:
    """What is emitted for a conversion of a tensor of ``graph``."""
    kind = graph.types[conversion.tensor]
    source, target = conversion.source, conversion.target
    change = conversion_kind(kind.shape, source, target)
    if change is ConversionKind.REFILL:
        refilled = _refilled(kind, source, target)
        if isinstance(refilled, PhysicalForm):
            return refilled
    builder = GraphBuilder()
    start = builder.tensor(source.physical_shape(kind.shape), kind.element)
    end = builder.tensor(target.physical_shape(kind.shape), kind.element)
    match change:
        case ConversionKind.NOTHING | ConversionKind.RESHAPE:
            builder.add(Reshape(start, end))
        case ConversionKind.TRANSPOSE:
            padded = TensorType(source.padded_shape(kind.shape), kind.element)
            _shuffle(builder, padded, source, target, start, end)
        case ConversionKind.PACK:
            builder.add(Pack(start, end, _seen_from(target, source), _filler(kind, target)))
        case ConversionKind.UNPACK:
            builder.add(Unpack(start, end, _seen_from(source, target)))
        case ConversionKind.UNPACK_PACK | ConversionKind.REFILL:
            between = builder.tensor(kind.shape, kind.element)
            builder.add(Unpack(start, between, source))
            builder.add(Pack(between, end, target, _filler(kind, target)))
    graph = lower_packs(builder.build((start,), (end,)), _is_written_out)
    return PhysicalForm(simplified(graph), (start,), (), (end,))


def _is_written_out(kind: TensorType, layout: Layout) -> bool:
    """Whether a pack is better not one: nothing moves, or sizes are open and a tile is a whole dim.

    Of such a tile IREE 3.13 makes one vector on processors, and then refuses it.
    """
    opened = any(isinstance(n, Size) for n in kind.shape)
    whole = any(layout.tile_of(d) == n for d, n in enumerate(kind.shape) if n != 1)
    return stays_in_place(kind.shape, layout) or (opened and whole)


def lower_packs(
    graph: Graph, chosen: Callable[[TensorType, Layout], bool] = lambda *_: True
) -> Graph:
    """The same graph with reshapes and transposes (pads and slices) in place of packs.

    ``chosen``: which ones, by the type of the tensor that is packed and the layout that it gets.
    """
    builder = GraphBuilder(len(graph.types))
    ops: list[Op] = []
    for op in graph.ops:
        before = len(builder.ops)
        if isinstance(op, Pack) and chosen(graph.types[op.source], op.layout):
            add_pack(builder, graph.types[op.source], op)
        elif isinstance(op, Unpack) and chosen(graph.types[op.result], op.layout):
            add_unpack(builder, graph.types[op.result], op)
        ops += builder.ops[before:] or [op]
    return replace(graph, types=(*graph.types, *builder.types), ops=tuple(ops), names=())


def _filler(kind: TensorType, layout: Layout) -> str | None:
    return layout.padding.text(kind.element) if layout.pads(kind.shape) else None


def _refilled(kind: TensorType, source: Layout, target: Layout) -> PhysicalForm | Refusal:
    """A copy of the logical tensor over both layouts: it masks what the target's padding holds."""
    rank = len(kind.shape)
    copy = Structured(
        (0,),
        (Uninitialized(),),
        (1,),
        kind.shape,
        (IteratorType.PARALLEL,) * rank,
        (identity_map(rank),) * 2,
        copy_body(kind.element),
    )
    physical = Physical((kind, kind))
    layouts = {0: source, 1: target}
    refusal = relayout(copy, layouts, physical)
    if refusal is not None:
        return refusal
    start, end = (physical.tensor(t, x) for t, x in layouts.items())
    return PhysicalForm(physical.builder.build((start,), (end,)), (start,), (), (end,))


def _seen_from(tiled: Layout, plain: Layout) -> Layout:
    """A tiled layout of the logical tensor as one of the tensor that lies in ``plain``."""
    place = plain.outer_dims_perm.index
    return Layout(
        tuple(map(place, tiled.outer_dims_perm)),
        tuple(map(place, tiled.inner_dims_pos)),
        tiled.inner_tiles,
        tiled.padding,
    )


Piece = tuple[int, int]
"""Part of a dim: (dim, stride within the dim)."""


def _shuffle(
    builder: GraphBuilder, kind: TensorType, source: Layout, target: Layout, start: int, end: int
) -> None:
    """Reshape to the pieces that both layouts move as one, transpose, reshape back."""
    cuts = {
        d: [*sorted({1, *(x.tile_of(d) for x in (source, target))} - {n}), n]
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
    assert math.prod(size.values()) == math.prod(kind.shape)


def _pieces(layout: Layout, kind: TensorType, cuts: dict[int, list[int]]) -> list[Piece]:
    """The pieces in the order in which they lie in memory."""
    found: list[Piece] = []
    for d in layout.outer_dims_perm:
        found += [(d, c) for c in reversed(cuts[d][:-1]) if c >= layout.tile_of(d)]
    for d, tile in zip(layout.inner_dims_pos, layout.inner_tiles, strict=True):
        found += [(d, c) for c in reversed(cuts[d][:-1]) if c < tile]
    return found
