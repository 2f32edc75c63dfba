"""Packed contractions with a schedule of their own: layouts that flow, at the speed of registers.

    y[M,N,m',n'] += x[M,K,m',k'] * w[N,K,k',n']

The tiles of the result are those of the next contraction's first factor, so a chain packs once. A
tile with a microkernel can't be that: its k' is one or two, its n' as wide as a vector. Registers
hold ``rows x n'`` of the result while K, windows and k' are summed up, a few of k' in one step. An
image keeps its rows, x[K,h,w,k'], and is read as one long dim, as by direct convolutions. Where
what is read for neighbours of the result are no neighbours (strides), the registers hold several
tiles of n' for one of them instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from layoutopt.candidates.flat_image import over_flat_image, write_over_flat_image
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.affine import plain_dims
from layoutopt.ir.graph import Graph, GraphBuilder, Op, Structured
from layoutopt.ir.roles import roles
from layoutopt.ir.scalar import is_exact_contraction
from layoutopt.ir.schedule import Schedule, VectorTile, depth_of
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType

_MOST_ROWS = 196
"""Rows of a workgroup: with a panel of the weights they stay in the second cache."""
_MOST_PANELS = 8
"""Tiles of n' that registers hold for one row: each is read anew for the next row."""
_ELEMENT, _ELEMENT_BITS = "f32", 32


@dataclass(frozen=True, slots=True)
class _Packed:
    """A contraction over tiles, as it is to be written."""

    op: Structured
    over_image: bool
    """Whether its first factor is read as one long dim."""
    column: int
    """The loop n'."""
    depth_loop: int | None
    """The loop k'; none where each channel is summed up for itself."""
    row: int | None
    """The loop that registers hold several steps of; None where there is none."""

    @property
    def depth(self) -> dict[int, int]:
        """How many elements of k' are summed in one step."""
        loop = self.depth_loop
        depth = None if loop is None else depth_of(self.op.domain[loop])
        return {} if loop is None or depth is None else {loop: depth}


def packed_tile(
    op: Op, types: tuple[TensorType, ...], registers: VectorRegisters
) -> VectorTile | None:
    """The tile of registers for a packed contraction; None where loops or maps do not suit."""
    found = _packed(op, types)
    if found is None:
        return None
    columns = found.op.domain[found.column]
    most = max(1, registers.most_rows(max(1, columns * _ELEMENT_BITS // registers.bits), 1))
    rows = 1 if found.row is None else _rows(found, found.row, most)
    return VectorTile(rows, columns)


def with_packed_schedules(graph: Graph, tile: VectorTile) -> Graph:
    """The graph where each packed contraction that a tile suits has the schedule of that tile."""
    builder = GraphBuilder(len(graph.types))
    ops: list[Op] = []
    for op in graph.ops:
        found = _packed(op, graph.types)
        if found is None or found.op.domain[found.column] != tile.columns:
            ops.append(op)
            continue
        scheduled = replace(found.op, schedule=_schedule(found, tile), generalized=True)
        before = len(builder.ops)
        if found.over_image:
            write_over_flat_image(scheduled, graph, builder)
        else:
            builder.add(scheduled)
        ops += builder.ops[before:]
    return Graph((*graph.types, *builder.types), tuple(ops), graph.inputs, graph.outputs)


def _packed(op: Op, types: tuple[TensorType, ...]) -> _Packed | None:
    """A contraction whose columns and whose summed elements lie last; None where it is none."""
    if not isinstance(op, Structured) or not op.is_contraction or op.body.reads_index:
        return None
    if {*op.body.arguments} != {_ELEMENT} or any(plain_dims(m) is None for m in op.maps[1:]):
        return None
    if not (op.maps[0] and op.result_maps[0]):
        return None
    op = written = _columns_second(op)
    over_image = plain_dims(op.maps[0]) is None
    if over_image:
        found = over_flat_image(op, types)
        if found is None:
            return None
        written = found
    if not written.result_maps[0]:
        return None
    kind = roles(written)
    column, depth = written.result_maps[0][-1].plain_dim, written.maps[0][-1].plain_dim
    if column is None or isinstance(written.domain[column], Size):
        return None
    if column in kind.batch and depth == column:
        depth = None
    elif (
        column not in kind.n
        or depth not in written.reduction_dims
        or not _is_deep(written.domain[depth])
    ):
        return None
    dims = [f.plain_dim for f in written.result_maps[0]]
    rows = [d for d in reversed(dims) if d in kind.m and _are_neighbours(written, d)][:1]
    if not rows:
        rows = [d for d in reversed(dims) if d in kind.n and d != column][:1]
    return _Packed(written, over_image, column, depth, next(iter(rows), None))


def _is_deep(size: int) -> bool:
    return not isinstance(size, Size) and depth_of(size) is not None


def _columns_second(op: Structured) -> Structured:
    """The op with the factors swapped where the first is the one that has the columns."""
    if op.result_maps[0][-1].plain_dim not in roles(op).m or not is_exact_contraction(op.body):
        return op
    (lhs, rhs), (first, second, *made) = op.sources, op.maps
    return replace(op, sources=(rhs, lhs), maps=(second, first, *made))


def _are_neighbours(op: Structured, loop: int) -> bool:
    """Whether steps of a loop read the first factor one element of some dim apart."""
    return all(f.coefficient(loop) == 1 for f in op.maps[0] if loop in f.dims)


def _rows(found: _Packed, loop: int, most: int) -> int:
    size = found.op.domain[loop]
    if loop in roles(found.op).n:
        most = min(most, _MOST_PANELS)
    return max(r for r in range(1, most + 1) if size % r == 0)


def _schedule(found: _Packed, tile: VectorTile) -> Schedule:
    op, row = found.op, found.row
    kind = roles(op)
    loops = range(len(op.domain))
    parallel = [d for d in loops if d not in op.reduction_dims]
    inner = {found.column: tile.columns}
    if row is not None:
        inner[row] = tile.rows
    outer = dict(inner)
    inside = [d for d in kind.m if d not in inner]
    if row in kind.m:
        inside.append(row)
    left = _MOST_ROWS
    for loop in reversed(inside):
        size, step = op.domain[loop], inner.get(loop, 1)
        if isinstance(size, Size):
            continue
        several = [n for n in range(step, max(step, left) + 1, step) if size % n == 0]
        others = math.prod(op.domain[d] for d in parallel if d != loop)
        outer[loop] = tile.balanced(several, size, others) if several else step
        left //= outer[loop]
    return Schedule(
        tuple(outer.get(d, 1) if d in parallel else 0 for d in loops),
        tuple(inner.get(d, 1) if d in parallel else 0 for d in loops),
        tuple(found.depth.get(d, 1) if d not in parallel else 0 for d in loops),
        windowed=True,
    )
