"""Open sizes in whole tiles that stay where they are: rows of a matmul, padded and split in two.

    y[s, n] += x[s, k] * w[k, n]   ->   y[s1, s0, n] += x[s1, s0, k] * w[k, n]      s = 32 * s1 + s0

No element moves; the memory is that of the row-major tensor with a few rows more. A loop whose size
is known at run time only keeps GPU compilers from matrix instructions (IREE 3.13 runs one workgroup
for each element of the result); two loops, of which the inner one is known, do not.

As a layout: the open dim has a tile, and each dim behind it one of its whole size.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.candidates.packing.tiling import Packing, tiled_layout
from layoutopt.ir.graph import Structured
from layoutopt.ir.roles import is_windowed, roles
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType

_TILE = 32
"""Rows of a tile: two of the matrix instructions of a GPU. One size for all ops, so that what one
makes is what the next one takes."""


def whole_rows(op: Structured, types: tuple[TensorType, ...]) -> Iterator[Packing]:
    """Packings of a contraction with open sizes, none where all are known."""
    r = roles(op)
    if is_windowed(op):
        return
    loops = (*r.m, *r.n, *r.k)
    opened = [d for of in (r.m, r.n, r.k) for d in _needing_tiles(op, of)]
    if not opened:
        return
    sizes = {d: op.domain[d] for d in loops if not isinstance(op.domain[d], Size)}
    yield _packing(op, types, sizes | dict.fromkeys(opened, _TILE), opened)


def _needing_tiles(op: Structured, loops: tuple[int, ...]) -> list[int]:
    """The innermost open loop of one role, unless a known one beside it is as long as a tile.

    The tokens of an image are that where the number of images is open.
    """
    opened = [d for d in loops if isinstance(op.domain[d], Size)]
    known = [op.domain[d] for d in loops if d not in opened]
    return opened[-1:] if max(known, default=1) < _TILE else []


def _packing(
    op: Structured, types: tuple[TensorType, ...], sizes: dict[int, int], opened: list[int]
) -> Packing:
    layouts = []
    for index_map, tensor in zip(op.maps, (*op.sources, op.results[0]), strict=True):
        order = [form.plain_dim for form in index_map]
        first = next((i for i, d in enumerate(order) if d in opened), 0)
        inner = tuple((d, sizes[d]) for d in order[first:] if d in sizes)
        layouts.append(tiled_layout(index_map, types[tensor], tuple(range(len(order))), inner))
    lhs, rhs, result = layouts
    return Packing(lhs, rhs, result, mmt4d=False)
