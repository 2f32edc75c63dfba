"""Layouts through a pad: ``pad(x:L) -> y:L``, with whole tiles added along tiled dims."""

from __future__ import annotations

from layoutopt.graph import Pad
from layoutopt.layout import Layout
from layoutopt.rules.propagation.dims import in_tiles, ragged
from layoutopt.rules.rule import Assignment, Physical, Refusal
from layoutopt.types import TensorType


class PadLayouts:
    """The propagation rule of ``tensor.pad``."""

    name = "pad-layouts"

    def propagate(
        self, op: Pad, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Source and result share one layout."""
        return _refusal(op, layout, types) or {op.source: layout, op.result: layout}

    def relayout(self, op: Pad, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Pad the memory form."""
        layout = layouts[op.source]
        if layouts[op.result] != layout:
            return Refusal("expected source and result of a pad in one layout, but they differ")
        refusal = _refusal(op, layout, physical.types)
        if refusal:
            return refusal
        physical.builder.add(
            Pad(
                physical.tensor(op.source, layout),
                physical.tensor(op.result, layout),
                in_tiles(op.low, layout, 0),
                in_tiles(op.high, layout, 0),
                op.value,
            )
        )
        return None


def _refusal(op: Pad, layout: Layout, types: tuple[TensorType, ...]) -> Refusal | None:
    dim = ragged(layout, types[op.source].shape, op.low, op.high)
    if dim is None:
        return None
    return Refusal(
        f"expected padding by whole tiles of {layout.tile_of(dim)} along dim {dim}, "
        f"but got low {op.low[dim]} high {op.high[dim]}"
    )
