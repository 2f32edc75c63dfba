"""Layouts through a scatter: all sources and the result share one order of dims."""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.graph import Scatter
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import TensorType


class ScatterLayouts:
    """The propagation rule of a scatter."""

    name = "scatter-layouts"

    def propagate(
        self, op: Scatter, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Sources and result share one layout without tiles."""
        return _refusal(layout) or dict.fromkeys((*op.sources, op.result, tensor), layout)

    def relayout(self, op: Scatter, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Scatter the memory form."""
        layout = layouts[op.result]
        if any(layouts[t] != layout for t in op.sources):
            return Refusal("expected all operands of a scatter in one layout, but they differ")
        refusal = _refusal(layout)
        if refusal:
            return refusal
        order = layout.outer_dims_perm
        physical.builder.add(
            replace(
                op,
                sources=tuple(physical.tensor(t, layout) for t in op.sources),
                result=physical.tensor(op.result, layout),
                offsets=tuple(tuple(o[d] for d in order) for o in op.offsets),
                strides=tuple(op.strides[d] for d in order),
            )
        )
        return None


def _refusal(layout: Layout) -> Refusal | None:
    if not layout.is_tiled:
        return None
    return Refusal(f"expected a layout without tiles around a scatter, but got {layout}")
