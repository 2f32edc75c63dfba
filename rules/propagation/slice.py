"""Layouts through a slice: ``extract_slice(x:L) -> y:L``, cut between tiles along tiled dims."""

from __future__ import annotations

from layoutopt.graph import Slice
from layoutopt.layout import Layout
from layoutopt.rules.propagation.dims import in_tiles, in_whole_tiles, physical_strides
from layoutopt.rules.rule import Assignment, Physical, Refusal
from layoutopt.types import TensorType


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
        if layouts[op.result] != layout:
            return Refusal("expected source and result of a slice in one layout, but they differ")
        refusal = _refusal(op, layout, physical.types)
        if refusal:
            return refusal
        physical.builder.add(
            Slice(
                physical.tensor(op.source, layout),
                physical.tensor(op.result, layout),
                in_tiles(op.offsets, layout, 0),
                physical_strides(op.strides, layout),
            )
        )
        return None


def _refusal(op: Slice, layout: Layout, types: tuple[TensorType, ...]) -> Refusal | None:
    return in_whole_tiles("a slice", op, layout, types[op.result].shape, types[op.source].shape)
