"""Layouts through a slice: ``extract_slice(x:L) -> y:L``, cut between tiles along tiled dims.

A tile that is all of a dim may be cut: what is left is all of the result's, and a tile again.
"""

from __future__ import annotations

from layoutopt.ir.graph import Slice
from layoutopt.ir.layout import Layout
from layoutopt.ir.packs_as_transposes import stays_in_place
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation.dims import (
    cut_tile,
    keeps_padding,
    same_places,
    whole_tiles,
    with_whole_tiles,
)


class SliceLayouts:
    """The propagation rule of ``tensor.extract_slice``."""

    name = "slice-layouts"

    def propagate(
        self, op: Slice, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Source and result share one layout, but for tiles that are all of a dim."""
        here, other = (tensor, op.result if tensor == op.source else op.source)
        shapes = types[here].shape, types[other].shape
        plain = {op.source: layout, op.result: layout}
        refused = _refusal(op, plain, types)
        if refused is None and not stays_in_place(shapes[0], layout):
            return plain
        found = {here: layout, other: with_whole_tiles(layout, *shapes)}
        return _refusal(op, found, types) or found

    def relayout(self, op: Slice, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Slice the memory form."""
        layout = layouts[op.source]
        refusal = _refusal(op, layouts, physical.types)
        if refusal:
            return refusal
        if not keeps_padding(layouts, physical.types, (op.source,), op.result):
            wanted = layouts[op.result].padding.value
            return Refusal(f"expected a source with {wanted} in its padding")
        cut = _cut(op, layouts, physical.types)
        outer = [(0, 1) if d in cut else _outer(op, d, layout) for d in layout.outer_dims_perm]
        inner = [
            (op.offsets[d], op.strides[d]) if d in cut else (0, 1) for d in layout.inner_dims_pos
        ]
        offsets, strides = zip(*outer, *inner, strict=True) if outer else ((), ())
        physical.builder.add(
            Slice(
                physical.tensor(op.source, layout),
                physical.tensor(op.result, layouts[op.result]),
                offsets,
                strides,
            )
        )
        return None


def _outer(op: Slice, dim: int, layout: Layout) -> tuple[int, int]:
    return op.offsets[dim] // layout.tile_of(dim), op.strides[dim]


def _cut(op: Slice, layouts: Assignment, types: tuple[TensorType, ...]) -> frozenset[int]:
    """The dims whose one tile is cut."""
    pair = [whole_tiles(layouts[t], types[t].shape) for t in (op.source, op.result)]
    differ = {
        d
        for d, (n, m) in enumerate(zip(types[op.source].shape, types[op.result].shape, strict=True))
        if layouts[op.source].tile_of(d) != layouts[op.result].tile_of(d) and n != m
    }
    return pair[0] & pair[1] & differ


def _refusal(
    op: Slice, layouts: Assignment, types: tuple[TensorType, ...]
) -> Refusal | None:  # fmt: skip
    layout = layouts[op.source]
    shapes = types[op.source].shape, types[op.result].shape
    cut = _cut(op, layouts, types)
    shared = {
        t: with_whole_tiles(layouts[t], types[t].shape, shapes[1], cut)
        for t in (op.source, op.result)
    }
    if not same_places(shared, (op.source, op.result)):
        return Refusal("expected source and result of a slice in one layout, but they differ")
    rest = Layout(
        layout.outer_dims_perm,
        tuple(d for d in layout.inner_dims_pos if d not in cut),
        tuple(layout.tile_of(d) for d in layout.inner_dims_pos if d not in cut),
    )
    dim = cut_tile(rest, shapes[0], op.offsets, shapes[1])
    strided = [d for d in rest.inner_dims_pos if op.strides[d] != 1]
    if dim is None and not strided:
        return None
    at = strided[0] if dim is None else dim
    return Refusal(
        f"expected a slice of whole tiles of {layout.tile_of(at)} along dim {at}, but "
        f"got offset {op.offsets[at]} size {shapes[1][at]} stride {op.strides[at]}"
    )
