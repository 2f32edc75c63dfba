"""Whether a slice is one piece of memory: what reads it reads its source at an offset."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.graph import Slice
from layoutopt.ir.types import TensorType


def is_contiguous(op: Slice, types: Sequence[TensorType]) -> bool:
    """Whether a slice of a row-major tensor is one piece, at a place that is known.

    Ahead of the last dim that it cuts, it has one element along each.
    """
    whole, part = types[op.source].shape, types[op.result].shape
    if any(type(n) is not int for n in op.offsets) or any(stride != 1 for stride in op.strides):
        return False
    cut = [d for d, (n, m) in enumerate(zip(whole, part, strict=True)) if n != m]
    return all(part[d] == 1 for d in range(max(cut, default=0)))
