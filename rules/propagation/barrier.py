"""Ops that take and give row-major tensors only: what the graph cannot see through."""

from __future__ import annotations

from layoutopt.ir.graph import Op
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import TensorType


class BarrierLayouts:
    """The propagation rule of opaque ops."""

    name = "barrier-layouts"

    def propagate(
        self, op: Op, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Row-major all round."""
        if layout.is_row_major:
            return {t: row_major(len(types[t].shape)) for t in (*op.inputs, *op.outputs)}
        return Refusal(
            f"expected row-major at an op that the graph cannot see through, but got {layout}"
        )

    def relayout(self, op: Op, layouts: Assignment, physical: Physical) -> Refusal | None:
        """An opaque op is never moved."""
        return Refusal("expected an op that the graph can see through, but it is opaque")
