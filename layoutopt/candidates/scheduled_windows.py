"""Convolutions on a GPU as they are, with tiles of workgroups: windows become rows on the way.

    y[h,w,f] += x[s*h + i, t*w + j, c] * w[i,j,c,f]
      ->
    y[h,w,f] += x'[(h,w), k] * w'[k,f]          k = (i,j,c), x' in shared memory alone

IREE 3.13 copies the windows of a tile into the memory that the threads of a workgroup share, and
multiplies there by matrix instructions (an implicit GEMM). A tile has some lines of the image, some
pixels of each, and some filters; its own choice has few workgroups (28 for 28x28 pixels and 128
filters, on an H100 with 132 units). Tiles are chosen as those of matmuls are, whose rows are the
pixels; lines and pixels that they do not divide are padded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from layoutopt.candidates.matmul_form import reshaped
from layoutopt.candidates.scheduled_workgroups import (
    MOST_PADDED,
    MatrixSizes,
    best_tiles,
    fits,
    matrix_tiles,
)
from layoutopt.compiler.gpu import GpuUnits
from layoutopt.ir.affine import Affine, IndexMap, affine
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, Op, Reshape, Structured
from layoutopt.ir.roles import is_windowed, roles
from layoutopt.ir.schedule import Schedule, Workgroup, WorkgroupTile
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType, element_bytes

_LINES = (1, 2, 4, 8)
"""Of the image, in a tile."""


@dataclass(frozen=True, slots=True)
class _Windows:
    """A convolution without loops of one step, those of its result first, and its operands."""

    op: Structured
    shapes: tuple[tuple[int, ...], ...]
    """Of the operands and of the result, without dims of size one."""

    @property
    def made(self) -> int:
        """Loops of the result, the first ones."""
        return len(self.shapes[-1])

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Lines of the image, one where it has but one dim, pixels of a line, filters, and products
        that are added up for each element of the result."""
        *others, pixels, filters = self.op.domain[: self.made]
        depth = math.prod(self.op.domain[self.made :])
        return (others[-1] if others else 1), pixels, filters, depth

    @property
    def images(self) -> int:
        """That have workgroups of their own."""
        return math.prod(self.op.domain[: max(0, self.made - 3)])

    def padded(self, tile: WorkgroupTile) -> tuple[int, ...]:
        """The sizes in whole tiles."""
        parts = (tile.lines, tile.pixels, tile.columns, tile.depth)
        return tuple(-(-size // part) * part for size, part in zip(self.sizes, parts, strict=True))


def window_tiles(
    op: Op, types: tuple[TensorType, ...], units: GpuUnits, compute_units: int
) -> tuple[WorkgroupTile, ...]:
    """The tiles to try for a convolution with its channels last; none where loops do not suit."""
    found = _windows(op, types)
    if found is None:
        return ()
    element, sums = types[found.op.sources[0]].element, types[found.op.results[0]].element
    if types[found.op.sources[1]].element != element:
        return ()
    own_bytes, least = element_bytes(element), math.prod(found.sizes)

    def sizes(tile: WorkgroupTile) -> MatrixSizes:
        lines, pixels, filters, depth = found.padded(tile)
        return MatrixSizes(found.images, lines * pixels, filters, depth, own_bytes)

    fitting = [
        tile
        for matrix in matrix_tiles(element, sums, units)
        for tile in _in_lines(matrix)
        if fits(tile, own_bytes, units) and math.prod(found.padded(tile)) <= MOST_PADDED * least
    ]
    return best_tiles(fitting, sizes, compute_units)


def with_windows(graph: Graph, tile: WorkgroupTile) -> Graph:
    """The graph where every convolution that suits has that tile's schedule."""
    builder = GraphBuilder(len(graph.types))
    ops: list[Op] = []
    for op in graph.ops:
        found = _windows(op, graph.types)
        if found is None:
            ops.append(op)
            continue
        scheduled = replace(found.op, schedule=_schedule(found, tile), generalized=True)
        before = len(builder.ops)
        sources = tuple(
            reshaped(source, shape, graph, builder)
            for source, shape in zip(scheduled.sources, found.shapes, strict=False)
        )
        (result,) = scheduled.results
        made = builder.tensor(found.shapes[-1], graph.types[result].element)
        builder.add(replace(scheduled, sources=sources, results=(made,)))
        builder.add(Reshape(made, result))
        ops += builder.ops[before:]
    return Graph((*graph.types, *builder.types), tuple(ops), graph.inputs, graph.outputs)


def _in_lines(tile: WorkgroupTile) -> Iterator[WorkgroupTile]:
    """The tiles whose rows are so many pixels of several lines; subgroups share lines first."""
    m, _, _ = tile.of_one
    subgroups = tile.rows // tile.held_rows
    for lines in _LINES:
        held = lines // math.gcd(lines, subgroups)
        if tile.rows % lines == 0 and tile.held_rows % (held * m) == 0:
            yield replace(tile, lines=lines, held_lines=held)


def _schedule(found: _Windows, tile: WorkgroupTile) -> Schedule:
    """By the loops of the result, and one for all that are summed."""
    m, n, k = tile.of_one
    outer: tuple[int, ...] = (tile.lines, tile.pixels, tile.columns)
    inner: tuple[int, ...] = (tile.held_lines, tile.held_pixels // m, tile.held_columns // n)
    made = found.made
    outer, inner = outer[-made:], inner[-made:]
    others = made - len(outer)
    padding = (*(1 for _ in range(others)), *outer, tile.depth)
    return Schedule(
        (*(1 for _ in range(others)), *outer, 0),
        (*(0 for _ in range(others)), *inner, 0),
        (*(0 for _ in range(made)), tile.depth // k),
        windowed=True,
        workgroup=Workgroup(
            tile.threads,
            tile.subgroup,
            tile.instruction,
            padding if found.padded(tile) != found.sizes else (),
            windows=len(found.op.domain) - made,
        ),
    )


def _windows(op: Op, types: tuple[TensorType, ...]) -> _Windows | None:
    """The convolution as it is scheduled; None for what is none, or has its channels elsewhere."""
    if not isinstance(op, Structured) or not op.is_contraction or not is_windowed(op):
        return None
    if op.body.reads_index or any(isinstance(n, Size) for n in op.domain):
        return None
    kind, wide = roles(op), [d for d, n in enumerate(op.domain) if n != 1]
    made, filters = (
        [f.plain_dim for f in m if f.dims and f.dims[0] in wide] for m in op.maps[:0:-1]
    )
    summed = [d for d in filters if d in op.reduction_dims]
    if (
        not summed
        or len(made) < 2
        or made[-1] not in kind.n
        or any(d not in kind.m for d in made[:-1])
    ):
        return None
    if filters != [*summed, made[-1]] or {*summed} != {d for d in wide if d in op.reduction_dims}:
        return None
    order = {d: place for place, d in enumerate((*made, *summed)) if d is not None}
    operands = [
        _narrow(m, types[t].shape, order)
        for m, t in zip(op.maps, (*op.sources, *op.results), strict=True)
    ]
    if any(found is None for found in operands) or not all(isinstance(i, Fill) for i in op.inits):
        return None
    maps, shapes = zip(*(found for found in operands if found is not None), strict=True)
    image = maps[0]
    if (
        not image
        or image[-1].plain_dim != order[summed[-1]]
        or not any(len(f.terms) > 1 for f in image)
    ):
        return None
    loops = sorted(order, key=order.__getitem__)
    narrow = replace(
        op,
        domain=tuple(op.domain[d] for d in loops),
        iterators=tuple(op.iterators[d] for d in loops),
        maps=maps,
    )
    return _Windows(narrow, shapes)


def _narrow(
    index_map: IndexMap, shape: tuple[int, ...], order: dict[int, int]
) -> tuple[IndexMap, tuple[int, ...]] | None:
    """A map over the loops that are left, and the dims that it then reads; None where it cannot."""
    forms: list[Affine] = []
    sizes: list[int] = []
    for form, size in zip(index_map, shape, strict=True):
        left = affine(((order[d], c) for d, c in form.terms if d in order), form.offset)
        if form.offset or (not left.terms and size != 1):
            return None
        if left.terms:
            forms.append(left)
            sizes.append(size)
    return tuple(forms), tuple(sizes)
