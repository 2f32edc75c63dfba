"""Layouts through an insert: ``insert_slice(x:L, into:L) -> y:L``, between tiles on tiled dims."""

from __future__ import annotations

from layoutopt.ir.graph import Insert
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation.dims import cut_tile, in_tiles, keeps_padding, same_places


class InsertLayouts:
    """The propagation rule of ``tensor.insert_slice``."""

    name = "insert-layouts"

    def propagate(
        self, op: Insert, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Source, destination and result share one layout."""
        shared = {op.source: layout, op.destination: layout, op.result: layout}
        return _refusal(op, layout, types) or shared

    def relayout(self, op: Insert, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Insert the memory form."""
        layout = layouts[op.source]
        if not same_places(layouts, (*op.inputs, op.result)):
            return Refusal("expected all operands of an insert in one layout, but they differ")
        refusal = _refusal(op, layout, physical.types)
        if refusal:
            return refusal
        if not keeps_padding(layouts, physical.types, op.inputs, op.result):
            wanted = layouts[op.result].padding.value
            return Refusal(f"expected source and destination with {wanted} in their padding")
        strides = tuple(op.strides[d] for d in layout.outer_dims_perm)
        physical.builder.add(
            Insert(
                physical.tensor(op.source, layout),
                physical.tensor(op.destination, layouts[op.destination]),
                physical.tensor(op.result, layouts[op.result]),
                in_tiles(op.offsets, layout, 0),
                (*strides, *(1 for _ in layout.inner_tiles)),
            )
        )
        return None


def _refusal(op: Insert, layout: Layout, types: tuple[TensorType, ...]) -> Refusal | None:
    source, result = types[op.source].shape, types[op.result].shape
    dim = cut_tile(layout, result, op.offsets, source)
    strided = [d for d in layout.inner_dims_pos if op.strides[d] != 1]
    if dim is None and not strided:
        return None
    at = strided[0] if dim is None else dim
    return Refusal(
        f"expected an insert of whole tiles of {layout.tile_of(at)} along dim {at}, "
        f"but got offset {op.offsets[at]} size {source[at]} stride {op.strides[at]}"
    )
