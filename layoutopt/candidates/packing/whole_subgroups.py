"""Rows that are reduced, padded to whole subgroups of a GPU.

    y[m] += x[m, n]   ->   y[m] += x[m, n1, n0]      n = 64 * n1 + n0

IREE 3.13 spreads the reduction of a row over the lanes of one or more subgroups where these divide
the row; else each lane reduces a row of its own, step by step. On gfx950 the softmax of 1,500
elements takes eighteen times as long as that of 1,536, that of 197 nine times as long as that of
256.

As a layout: the innermost dim has a tile of one subgroup, which stays where it is. A contraction
may make its result so, with columns of padding in its weights.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.candidates.packing.tiling import Packing, plain_loops, tiled_layout
from layoutopt.ir.graph import Structured
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.roles import roles
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType

_SHORTEST = 16
"""Elements of a row below which a lane is as fast as a subgroup."""


def whole_subgroups(
    op: Structured, types: tuple[TensorType, ...], lanes: int
) -> Iterator[tuple[int, Layout]]:
    """Layouts of what a reduction reads, none for rows of whole subgroups and of open sizes."""
    for tensor in read_by_rows(op):
        if _is_ragged(types[tensor].shape[-1], lanes):
            yield tensor, tiled_rows(types[tensor], lanes)


def read_by_rows(op: Structured) -> Iterator[int]:
    """What a reduction reads along its innermost dim, one element after the other."""
    for tensor, index_map in zip(op.sources, op.source_maps, strict=True):
        if index_map and index_map[-1].plain_dim in op.reduction_dims:
            yield tensor


def tiled_rows(kind: TensorType, lanes: int) -> Layout:
    """The layout with a tile of so many elements along the innermost dim, which stays there."""
    rank = len(kind.shape)
    return Layout(tuple(range(rank)), (rank - 1,), (lanes,))


def whole_columns(op: Structured, types: tuple[TensorType, ...], lanes: int) -> Iterator[Packing]:
    """Packings of a contraction whose result has rows in whole subgroups."""
    made = op.maps[-1]
    loop = made[-1].plain_dim if made else None
    if loop not in plain_loops(op, roles(op).n) or not _is_ragged(op.domain[loop], lanes):
        return
    lhs, right = op.sources
    rhs, result = (
        tiled_layout(index_map, types[tensor], tuple(range(len(index_map))), ((loop, lanes),))
        for index_map, tensor in ((op.maps[1], right), (made, op.results[0]))
    )
    yield Packing(row_major(len(types[lhs].shape)), rhs, result, mmt4d=False)


def _is_ragged(size: int, lanes: int) -> bool:
    return not isinstance(size, Size) and size > _SHORTEST and size % lanes != 0
