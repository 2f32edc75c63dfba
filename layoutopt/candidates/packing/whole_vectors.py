"""Rows of open size that are reduced, padded to whole vectors of a CPU.

    y[m] += x[m, n]   ->   y[m] += x[m, n1, n0]      n = 16 * n1 + n0

IREE 3.13 reduces a row whose length it does not know element by element: the softmax of 512 rows of
128 takes 0.94 ms, and 0.14 in whole vectors, with what brings it there and back (f32, AVX2). With a
tile of the lanes innermost vectors are whole whatever the length is. A partial result for each lane
beside that (`reductions_in_lanes`) takes three times as long.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.ir.graph import Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding, neutral
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType

_FILLED = (Padding.ZERO, Padding.LOWEST, Padding.HIGHEST, Padding.ONE)


def whole_vectors(
    op: Structured, types: tuple[TensorType, ...], lanes: int
) -> Iterator[tuple[int, Layout]]:
    """Layouts of what a reduction reads along rows of open size."""
    for tensor, index_map in zip(op.sources, op.source_maps, strict=True):
        rank = len(index_map)
        loop = index_map[-1].plain_dim if rank else None
        size = types[tensor].shape[-1] if rank else 1
        if loop in op.reduction_dims and isinstance(size, Size) and size % lanes != 0:
            tiled = Layout(tuple(range(rank)), (rank - 1,), (lanes,))
            yield tensor, tiled.padded_with(_neutral(op, types[tensor].element))


def _neutral(op: Structured, element: str) -> Padding:
    """What changes nothing in a reduction, so that it needs no mask."""
    combining = op.body.op_of(op.body.yields[0])
    changes_nothing = None if combining is None else neutral(combining.name, element)
    filled = (p for p in _FILLED if p.text(element) == changes_nothing)
    return Padding.ANY if changes_nothing is None else next(filled, Padding.ANY)
