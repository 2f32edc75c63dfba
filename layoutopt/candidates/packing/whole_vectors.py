"""Rows of open size that are reduced, padded to whole vectors of a CPU.

    y[m] += x[m, n]   ->   y[m] += x[m, n1, n0]      n = 16 * n1 + n0

IREE 3.13 reduces a row whose length it does not know element by element: the softmax of 512 rows of
128 takes 0.94 ms, and 0.14 in whole vectors, with what brings it there and back (f32, AVX2). With a
tile of the lanes innermost vectors are whole whatever the length is. A partial result for each lane
beside that (`reductions_in_lanes`) takes three times as long.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.candidates.packing.whole_subgroups import read_by_rows, tiled_rows
from layoutopt.ir.graph import Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding, neutral
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType


def whole_vectors(
    op: Structured, types: tuple[TensorType, ...], lanes: int
) -> Iterator[tuple[int, Layout]]:
    """Layouts of what a reduction reads along rows of open size."""
    for tensor in read_by_rows(op):
        kind = types[tensor]
        if isinstance(kind.shape[-1], Size) and kind.shape[-1] % lanes != 0:
            yield tensor, tiled_rows(kind, lanes).padded_with(_neutral(op, kind.element))


def _neutral(op: Structured, element: str) -> Padding:
    """What changes nothing in a reduction, so that it needs no mask."""
    combining = op.body.op_of(op.body.yields[0])
    value = None if combining is None else neutral(combining.name, element)
    if value is None:
        return Padding.ANY
    return next((p for p in Padding if p.text(element) == value), Padding.ANY)
