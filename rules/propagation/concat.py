"""Layouts through a concat: ``concat(x:L, y:L) -> z:L``; every piece is whole tiles long."""

from __future__ import annotations

from layoutopt.graph import Concat
from layoutopt.layout import Layout
from layoutopt.rules.rule import Assignment, Physical, Refusal
from layoutopt.types import TensorType


class ConcatLayouts:
    """The propagation rule of ``tensor.concat``."""

    name = "concat-layouts"

    def propagate(
        self, op: Concat, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """All operands share one layout."""
        return _refusal(op, layout, types) or dict.fromkeys((*op.sources, op.result), layout)

    def relayout(self, op: Concat, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Concatenate the memory forms."""
        layout = layouts[op.result]
        if any(layouts[t] != layout for t in op.sources):
            return Refusal("expected all operands of a concat in one layout, but they differ")
        refusal = _refusal(op, layout, physical.types)
        if refusal:
            return refusal
        physical.builder.add(
            Concat(
                tuple(physical.tensor(t, layout) for t in op.sources),
                physical.tensor(op.result, layout),
                layout.outer_dims_perm.index(op.axis),
            )
        )
        return None


def _refusal(op: Concat, layout: Layout, types: tuple[TensorType, ...]) -> Refusal | None:
    tile = layout.tile_of(op.axis)
    sizes = [types[t].shape[op.axis] for t in op.sources]
    if all(size % tile == 0 for size in sizes):
        return None
    return Refusal(
        f"expected pieces of whole tiles of {tile} along dim {op.axis}, but got sizes {sizes}"
    )
