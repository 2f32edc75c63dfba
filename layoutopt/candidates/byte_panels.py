"""Contractions of bytes by an instruction of the processor, weights in panels.

    y[m, n] += x[m, k] * w[k, n]
      ->
    y[m, N, v, n'] += u[m, K, k'] * w'[N, K, v, n', k']        k' = 4, n' a vector of sums

x86-64's ``vpdpbusd`` multiplies four unsigned bytes by signed ones for each sum of a vector and
adds them up. The memory of u and y is that of row-major tensors, so nothing is packed at run time;
weights are laid out ahead of time, one or two vectors side by side. Where x is signed, u is x + 128
and the sums are corrected, as in `layoutopt.candidates.unsigned`. Data tiling packs the one and
unpacks the other: 169 x 1000 x 512, with scales and clamps behind it, takes 0.52 ms in SqueezeNet,
0.29 so (one thread of an AVX-512 server).

IREE takes the instruction over whole tiles of rows alone, so these divide the rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from layoutopt.candidates.matmul_form import reshaped, with_matmuls
from layoutopt.candidates.one_dispatch import in_dispatch_regions
from layoutopt.candidates.packing.tiling import ordered, tiled_layout
from layoutopt.candidates.preference import in_order, innermost_loop
from layoutopt.candidates.scheduled import dividing_rows, row_bytes
from layoutopt.candidates.unsigned import UnsignedWriter, unsigned_by
from layoutopt.candidates.whole_panels import in_whole_panels
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.affine import plain_map
from layoutopt.ir.copy_folding import simplified
from layoutopt.ir.graph import Fill, Graph, IteratorType, Op, Reshape, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.roles import roles
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType
from layoutopt.rules.rewrites.interior_padding import is_zero

DEPTH = 4
"""Products that are added up for each sum."""
_BYTE, _SUM, _SUM_BITS = "i8", "i32", 32
_PARALLEL = IteratorType.PARALLEL
_VECTORS = (2, 1)
"""Of sums, side by side, the first where it divides the columns."""
_MOST_ROWS = 196
"""Of a workgroup, about."""
_INSIDE = 3
"""The loops v, n' and k'."""


def byte_layouts(
    op: Structured,
    types: tuple[TensorType, ...],
    start: Mapping[int, Layout],
    registers: VectorRegisters,
) -> dict[int, Layout] | None:
    """Layouts around a contraction of bytes with its weights, the second input, in panels.

    ``start``: without. Bytes of padding, zeros, fill columns up to a vector and depths up to four.
    None where it is no such contraction, or where its loops do not lie so.
    """
    lhs, rhs, result = *op.sources, op.results[0]
    lanes = registers.bits // _SUM_BITS
    made, read = start[result], whole_depth(op, start[lhs])
    if [types[t].element for t in (lhs, rhs, result)] != [_BYTE, _BYTE, _SUM] or read is None:
        return None
    column = innermost_loop(op.result_maps[0], made, op.domain)
    depth = innermost_loop(op.source_maps[0], start[lhs], op.domain)
    r = roles(op)
    if made.is_tiled or column is None or depth is None or column not in r.n:
        return None
    if any({column, depth} & {*f.dims} and f.plain_dim is None for f in op.source_maps[1]):
        return None
    width = op.domain[column]
    whole = in_whole_panels(op, _SUM, made, lanes)
    if isinstance(width, Size) or (whole is None and width % lanes):
        return None
    vectors = next(v for v in _VECTORS if width % (v * lanes) == 0 or v == 1)
    along = in_order(op.source_maps[0], start[lhs], r.k)  # so that they merge
    outer = (*(n for n in r.n if n != column), column, *along)
    tiles = ((column, vectors * lanes), (depth, DEPTH))
    panels = tiled_layout(op.source_maps[1], types[rhs], ordered(op.source_maps[1], outer), tiles)
    return {**start, lhs: read, rhs: panels, result: whole or made}


def whole_depth(op: Structured, read: Layout) -> Layout | None:
    """The layout of the first factor whose innermost loop, one that is summed, is whole fours.

    ``read``: without. None where another loop is innermost.
    """
    depth = innermost_loop(op.source_maps[0], read, op.domain)
    axis = next((a for a, f in enumerate(op.source_maps[0]) if f.plain_dim == depth), None)
    if depth is None or axis is None or depth not in roles(op).k or read.is_tiled:
        return None
    if isinstance(op.domain[depth], Size):
        return None
    if op.domain[depth] % DEPTH == 0:
        return read
    outer = (*(a for a in read.outer_dims_perm if a != axis), axis)
    return Layout(outer, (axis,), (DEPTH,))


def byte_tiles(
    op: Structured, types: tuple[TensorType, ...], registers: VectorRegisters
) -> tuple[VectorTile, ...]:
    """The tiles to try for a contraction over panels of bytes, as the smallest contraction."""
    found = _loops(op)
    lanes = registers.bits // _SUM_BITS
    elements = [types[t].element for t in (*op.sources, *op.results)]
    if found is None or elements != [_BYTE, _BYTE, _SUM]:
        return ()
    vectors, rest = divmod(op.domain[found.column], lanes)
    if rest or vectors not in _VECTORS:
        return ()
    most = registers.most_rows(vectors, row_bytes(op, found.row, types))
    rows = dividing_rows(op.domain[found.row], vectors, registers, most)
    return () if rows is None else (VectorTile(rows, lanes, panels=vectors),)


def with_byte_panels(graph: Graph, tile: VectorTile, weights: Collection[int]) -> Graph | Refusal:
    """The graph where contractions over panels of bytes run by the instruction.

    ``weights``: inputs that are constants.
    """
    found = unsigned_by(_Panels(with_matmuls(graph), tile), weights)
    if isinstance(found, Refusal):
        return found
    found = simplified(found)
    return in_dispatch_regions(found, [i for i, op in enumerate(found.ops) if _is_written(op)])


def _is_written(op: Op) -> bool:
    """Whether the instruction does some loops of an op."""
    return isinstance(op, Structured) and op.schedule is not None and op.schedule.inside > 0


@dataclass(frozen=True, slots=True)
class _Loops:
    row: int
    column: int
    """Of a panel."""
    depth: int


def _loops(op: Structured) -> _Loops | None:
    """The loops that a tile is laid over; None where they do not lie so."""
    init, r = op.inits[0], roles(op)
    if not isinstance(init, Fill) or not is_zero(init.value, _SUM) or r.batch or r.window:
        return None
    lhs, rhs, made = ([form.plain_dim for form in m] for m in op.maps)
    if any(isinstance(n, Size) for n in op.domain) or not (lhs and made and r.k[1:]):
        return None
    column, depth = made[-1], lhs[-1]
    rows = [d for d in made if d in r.m]
    if column not in r.n or depth not in r.k or rhs[-2:] != [column, depth] or not rows:
        return None
    if rows[-1] is None or column is None or depth is None or op.domain[depth] != DEPTH:
        return None
    return _Loops(rows[-1], column, depth)


class _Panels(UnsignedWriter):
    """Over tiles of some rows."""

    def __init__(self, graph: Graph, tile: VectorTile) -> None:
        super().__init__(graph)
        self.tile = tile

    def write(self, op: Structured, unsigned: int) -> None:
        """Over vectors: what is split takes reshapes, which move nothing. Others are left."""
        found = _loops(op)
        if found is None or unsigned or op.domain[found.column] != self.tile.width:
            self.builder.add(op)
            return
        others = [d for d in range(len(op.domain)) if d not in (found.column, found.depth)]
        number: dict[int, tuple[int, ...]] = {d: (i,) for i, d in enumerate(others)}
        v, n, k = range(len(others), len(others) + _INSIDE)
        number |= {found.column: (v, n), found.depth: (k,)}
        dims = [[i for form in m for i in number[form.dims[0]]] for m in op.maps]
        kinds = (*(op.iterators[d] for d in others), _PARALLEL, _PARALLEL, IteratorType.REDUCTION)
        domain = (*(op.domain[d] for d in others), self.tile.panels, self.tile.columns, DEPTH)
        shapes = [tuple(domain[i] for i in own) for own in dims]
        made = self.builder.tensor(shapes[-1], _SUM)
        split = replace(
            op,
            sources=tuple(
                reshaped(tensor, shape, self.graph, self.builder)
                for tensor, shape in zip(op.sources, shapes, strict=False)
            ),
            results=(made,),
            domain=domain,
            iterators=kinds,
            maps=tuple(map(plain_map, dims)),
            schedule=self._schedule(op, found.row, others),
        )
        super().write(split, unsigned)
        self.builder.add(Reshape(made, op.results[0]))

    def multiply(self, op: Structured) -> None:
        """As it is: its schedule says what instruction it runs by."""
        self.builder.add(op)

    def _schedule(self, op: Structured, row: int, others: list[int]) -> Schedule:
        rows, height = self.tile.rows, op.domain[row]
        summed = set(op.reduction_dims)
        beside = math.prod(op.domain[d] for d in others if d not in summed and d != row)
        several = range(rows, max(rows, _MOST_ROWS) + 1, rows)
        shared = self.tile.balanced([n for n in several if height % n == 0], height, beside)
        rest = (0,) * _INSIDE

        def sizes(of_row: int) -> tuple[int, ...]:
            return (*(0 if d in summed else of_row if d == row else 1 for d in others), *rest)

        steps = (*(int(d in summed) for d in others), *rest)
        return Schedule(sizes(shared), sizes(rows), steps, inside=_INSIDE)
