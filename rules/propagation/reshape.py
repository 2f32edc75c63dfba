"""Layouts through a reshape: the result keeps the memory of its source.

    reshape(x:L) -> y:L'   where L' orders y's elements in memory as L orders x's

Free where such a layout exists (a split dim may become a tile and back); elsewhere the source
has to be row-major first.
"""

from __future__ import annotations

from layoutopt.graph import Reshape
from layoutopt.layout import Layout, layout_of_runs, memory_runs
from layoutopt.rules.rule import Assignment, Physical, Refusal
from layoutopt.types import TensorType


class ReshapeLayouts:
    """The propagation rule of ``tensor.collapse_shape`` and ``tensor.expand_shape``."""

    name = "reshape-layouts"

    def propagate(
        self, op: Reshape, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """The layout of the other side with the same memory."""
        other = op.result if tensor == op.source else op.source
        here, there = types[tensor].shape, types[other].shape
        if layout.pads(here):
            return Refusal(f"expected a layout without padding, but got {layout}")
        found = layout_of_runs(there, memory_runs(here, layout))
        if found is None:
            return Refusal(
                f"expected a layout of {types[other]} with the memory of "
                f"{types[tensor]} in {layout}, but there is none"
            )
        return {tensor: layout, other: found}

    def relayout(self, op: Reshape, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Reshape the memory form."""
        source, result = layouts[op.source], layouts[op.result]
        shapes = physical.types[op.source].shape, physical.types[op.result].shape
        if source.pads(shapes[0]) or result.pads(shapes[1]):
            return Refusal(
                f"expected layouts without padding around a reshape, but got {source} and {result}"
            )
        if memory_runs(shapes[0], source) != memory_runs(shapes[1], result):
            return Refusal(f"expected one memory order, but {source} and {result} differ")
        physical.builder.add(
            Reshape(physical.tensor(op.source, source), physical.tensor(op.result, result))
        )
        return None
