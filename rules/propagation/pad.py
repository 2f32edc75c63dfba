"""Layouts through a pad: ``pad(x:L) -> y:L``, with whole tiles added along tiled dims."""

from __future__ import annotations

import numpy as np

from layoutopt.ir.graph import Pad
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import TensorType, numpy_dtype
from layoutopt.oracle.constant import constant
from layoutopt.rules.propagation.dims import in_tiles, keeps_padding, ragged, same_places


class PadLayouts:
    """The propagation rule of ``tensor.pad``."""

    name = "pad-layouts"

    def propagate(
        self, op: Pad, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Source and result share one layout; what is added spoils another padding."""
        result = layout
        if tensor == op.source and not _adds(op, layout, types):
            result = layout.padded_with(Padding.ANY)
        return _refusal(op, layout, types) or {op.source: layout, op.result: result}

    def relayout(self, op: Pad, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Pad the memory form."""
        source, result = layouts[op.source], layouts[op.result]
        if not same_places(layouts, (op.source, op.result)):
            return Refusal("expected source and result of a pad in one layout, but they differ")
        refusal = _refusal(op, source, physical.types)
        if refusal:
            return refusal
        if not (
            keeps_padding(layouts, physical.types, (op.source,), op.result)
            and _adds(op, result, physical.types)
        ):
            wanted = result.padding.value
            return Refusal(f"expected {wanted} in the padding of a pad's source and as its value")
        physical.builder.add(
            Pad(
                physical.tensor(op.source, source),
                physical.tensor(op.result, result),
                in_tiles(op.low, source, 0),
                in_tiles(op.high, source, 0),
                op.value,
            )
        )
        return None


def _refusal(op: Pad, layout: Layout, types: tuple[TensorType, ...]) -> Refusal | None:
    dim = ragged(layout, op.low, op.high)
    if dim is None:
        source = types[op.source].shape
        dim = ragged(layout, [n if high else 0 for n, high in zip(source, op.high, strict=True)])
    if dim is None:
        return None
    return Refusal(
        f"expected padding by whole tiles of {layout.tile_of(dim)} along dim {dim}, "
        f"but got low {op.low[dim]} high {op.high[dim]}"
    )


def _adds(op: Pad, layout: Layout, types: tuple[TensorType, ...]) -> bool:
    """Whether the value that is added is the one that the padding contract requires."""
    kind = types[op.result]
    dtype = numpy_dtype(kind.element)
    if layout.padding is Padding.ANY or not layout.pads(kind.shape):
        return True
    value = constant(op.value, kind.element)
    return (
        dtype is not None
        and value is not None
        and bool(value == np.asarray(layout.padding.number(dtype), dtype))
    )
