"""Slices and inserts of open sizes, whose places are numbers or are cut at run time.

    real_dynamic_slice %x, %starts, %limits, %strides      ->      tensor.extract_slice
    dynamic_update_slice %x, %part, %i      ->      tensor.insert_slice at min(max(i, 0), n - m)

StableHLO cuts the places of an update, and takes it that those of a slice lie within.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import Size, Undecided, bounds
from layoutopt.mlir.read.sizes import DYNAMIC, Sizes, built
from layoutopt.mlir.stablehlo.building import (
    ahead,
    arith,
    known_shape,
    made,
    open_values,
    replaced,
    tensor_type,
)
from layoutopt.mlir.stablehlo.numbers import Numbers
from layoutopt.mlir.stablehlo.shapes import sliced, told

Ranges = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""Offsets, sizes and strides."""


def slice_out(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    """Write a ``real_dynamic_slice``; one whose strides or sizes are not known stays."""
    try:
        shape = sliced(numbers, op)
    except Undecided:
        return
    source, starts, _, strides = op.operands
    ranges = (told(numbers, starts), shape, told(numbers, strides))
    with ahead(op):
        value = extracted(sizes, source, ranges)
    replaced(sizes, op, value)


def update(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    """Write a ``dynamic_update_slice`` of open sizes."""
    whole, part, *places = op.operands
    if all(v.type.has_static_shape for v in (whole, part)):
        return
    held, taken = known_shape(sizes, whole), known_shape(sizes, part)
    starts = [numbers.asked(v, 0) for v in places]
    with ahead(op):
        first = [cut(sizes, s, n - m) for s, n, m in zip(starts, held, taken, strict=True)]
        ranges = (first, taken, [1] * len(first))
        values, attributes = _stated(sizes, ranges)
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1, *map(len, values)])
        operands = [part, whole, *(v for group in values for v in group)]
        value = made("tensor.insert_slice", operands, whole.type, **attributes)
    replaced(sizes, op, value)


def cut(sizes: Sizes, place: int, last: int) -> int:
    """A place in [0, last], where ops are put just now."""
    if bounds(place)[0] >= 0 and bounds(last - place)[0] >= 0:
        return place
    value = arith("arith.maxsi", built(sizes, place), built(sizes, 0))
    value = arith("arith.minsi", value, built(sizes, last))
    return Numbers(sizes).named(value)


def extracted(sizes: Sizes, source: Any, ranges: Ranges, dropped: Sequence[int] = ()) -> Any:
    """A slice; ``dropped``: dims of size 1 that its type lacks."""
    values, attributes = _stated(sizes, ranges)
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, *map(len, values)])
    operands = [source, *(v for group in values for v in group)]
    kept = [n for d, n in enumerate(ranges[1]) if d not in dropped]
    return made("tensor.extract_slice", operands, tensor_type(kept, source.type), **attributes)


def _stated(sizes: Sizes, ranges: Ranges) -> tuple[list[list[Any]], dict[str, Any]]:
    """Offsets, sizes and strides as operands and attributes."""
    names = ("static_offsets", "static_sizes", "static_strides")
    attributes = {
        name: ir.DenseI64ArrayAttr.get([DYNAMIC if isinstance(n, Size) else n for n in numbers])
        for name, numbers in zip(names, ranges, strict=True)
    }
    return [open_values(sizes, tuple(numbers)) for numbers in ranges], attributes
