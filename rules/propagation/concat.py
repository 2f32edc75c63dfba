"""Layouts through a concat: ``concat(x:L, y:L) -> z:L``; only the last piece may end in a tile.

Where the result has one tile along the dim, all of it, each piece has one of its own size.
"""

from __future__ import annotations

from layoutopt.ir.graph import Concat, Reshape
from layoutopt.ir.layout import Layout, same_memory
from layoutopt.ir.neutral import Padding
from layoutopt.ir.packs_as_transposes import stays_in_place
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation.dims import (
    keeps_padding,
    same_places,
    whole_tiles,
    with_whole_tiles,
)


class ConcatLayouts:
    """The propagation rule of ``tensor.concat``."""

    name = "concat-layouts"

    def propagate(
        self, op: Concat, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """All operands share one layout, but for tiles that are all of the dim."""
        shape = types[tensor].shape
        if op.axis in whole_tiles(layout, shape) and stays_in_place(shape, layout):
            return {
                t: with_whole_tiles(layout, shape, types[t].shape, (op.axis,))
                for t in (*op.sources, op.result)
            }
        return _refusal(op, layout, types) or dict.fromkeys((*op.sources, op.result), layout)

    def relayout(self, op: Concat, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Concatenate the memory forms."""
        if _side_by_side(op, layouts, physical.types):
            return _inside(op, layouts, physical)
        layout = layouts[op.result]
        others = [t for t in op.sources if not same_places(layouts, (t, op.result))]
        shapes = {t: physical.types[t].shape for t in others}
        if any(not same_memory(shapes[t], layouts[t], layout) for t in others):
            return Refusal("expected all operands of a concat in one layout, but they differ")
        refusal = _refusal(op, layout, physical.types)
        if refusal:
            return refusal
        if not keeps_padding(layouts, physical.types, op.sources, op.result):
            return Refusal(f"expected pieces with {layout.padding.value} in their padding")

        def piece(tensor: int) -> int:
            place = physical.tensor(tensor, layouts[tensor])
            if tensor not in others:
                return place
            memory = layout.physical_type(physical.types[tensor])
            made = physical.builder.tensor(memory.shape, memory.element)
            physical.builder.add(Reshape(place, made))
            return made

        physical.builder.add(
            Concat(
                tuple(map(piece, op.sources)),
                physical.tensor(op.result, layout),
                layout.outer_dims_perm.index(op.axis),
            )
        )
        return None


def _side_by_side(op: Concat, layouts: Assignment, types: tuple[TensorType, ...]) -> bool:
    """Whether each piece is one tile along the dim, part of the one tile of the result."""
    shape = types[op.result].shape
    same = {
        with_whole_tiles(layouts[t], types[t].shape, shape, (op.axis,)).padded_with(Padding.ANY)
        for t in (*op.sources, op.result)
    }
    return len(same) == 1 and all(
        op.axis in whole_tiles(layouts[t], types[t].shape) for t in (*op.sources, op.result)
    )


def _inside(op: Concat, layouts: Assignment, physical: Physical) -> Refusal | None:
    layout = layouts[op.result]
    if not keeps_padding(layouts, physical.types, op.sources, op.result):
        return Refusal(f"expected pieces with {layout.padding.value} in their padding")
    physical.builder.add(
        Concat(
            tuple(physical.tensor(t, layouts[t]) for t in op.sources),
            physical.tensor(op.result, layout),
            len(layout.outer_dims_perm) + layout.inner_dims_pos.index(op.axis),
        )
    )
    return None


def _refusal(op: Concat, layout: Layout, types: tuple[TensorType, ...]) -> Refusal | None:
    tile = layout.tile_of(op.axis)
    sizes = [types[t].shape[op.axis] for t in op.sources]
    if all(size % tile == 0 for size in sizes[:-1]):
        return None
    return Refusal(
        f"expected pieces of whole tiles of {tile} along dim {op.axis}, but got sizes {sizes}"
    )
