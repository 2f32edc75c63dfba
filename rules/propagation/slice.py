"""Layouts through a slice: ``extract_slice(x:L) -> y:L``, cut between tiles along tiled dims."""

from __future__ import annotations

from layoutopt.ir.graph import Slice
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation.dims import cut_tile, in_tiles, keeps_padding, same_places


class SliceLayouts:
    """The propagation rule of ``tensor.extract_slice``."""

    name = "slice-layouts"

    def propagate(
        self, op: Slice, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Source and result share one layout."""
        return _refusal(op, layout, types) or {op.source: layout, op.result: layout}

    def relayout(self, op: Slice, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Slice the memory form."""
        layout = layouts[op.source]
        if not same_places(layouts, (op.source, op.result)):
            return Refusal("expected source and result of a slice in one layout, but they differ")
        refusal = _refusal(op, layout, physical.types)
        if refusal:
            return refusal
        if not keeps_padding(layouts, physical.types, (op.source,), op.result):
            wanted = layouts[op.result].padding.value
            return Refusal(f"expected a source with {wanted} in its padding")
        strides = tuple(op.strides[d] for d in layout.outer_dims_perm)
        physical.builder.add(
            Slice(
                physical.tensor(op.source, layout),
                physical.tensor(op.result, layouts[op.result]),
                in_tiles(op.offsets, layout, 0),
                (*strides, *(1 for _ in layout.inner_tiles)),
            )
        )
        return None


def _refusal(op: Slice, layout: Layout, types: tuple[TensorType, ...]) -> Refusal | None:
    shapes = types[op.source].shape, types[op.result].shape
    dim = cut_tile(layout, shapes[0], op.offsets, shapes[1])
    strided = [d for d in layout.inner_dims_pos if op.strides[d] != 1]
    if dim is None and not strided:
        return None
    at = strided[0] if dim is None else dim
    return Refusal(
        f"expected a slice of whole tiles of {layout.tile_of(at)} along dim {at}, but "
        f"got offset {op.offsets[at]} size {shapes[1][at]} stride {op.strides[at]}"
    )
