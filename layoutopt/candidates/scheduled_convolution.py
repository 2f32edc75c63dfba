"""Direct convolutions with a schedule of their own, filters in panels.

    y[h,w,f] += x[h + i, w + j, c] * w[i,j,c,f]
      ->
    y[h,w,F,f'] += x'[W*h + W*i + w + j, c] * w'[F,i,j,c,f']      f = F * columns + f'

The memory of x and y stays as it is, and no window is copied: x' is x with its image dims
flattened, W elements of the image to a row. Registers hold ``rows x panels x columns`` of y, side
by side in one row of the image, while windows and channels are summed up: a panel is one vector
wide, and several are read at once, as in other contractions (`scheduled`). With one filter element
at a time the loops inside a tile are those of a matmul, so the tiles are chosen as there (Georganas
et al., Anatomy of High-Performance Deep Learning Convolutions on SIMD Architectures, SC 2018).
Neighbours along a row of the result have to be neighbours in x: strides are for the other dims, and
those of rows become channels (`convolution-to-space-to-depth`). Of groups each has panels of its
own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from layoutopt.candidates.flat_image import (
    over_flat_image,
    with_flat_images,
    with_merged_sums,
)
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.graph import Graph, Op, Structured
from layoutopt.ir.roles import roles
from layoutopt.ir.schedule import Schedule, VectorTile, depth_of
from layoutopt.ir.types import TensorType

_VECTORS = (1, 2, 4)
"""Vectors side by side; one where a row of the image is long and has few divisors."""
_LEAST_FILLED = 4
"""A tile that uses fewer registers than one in so many for sums waits for each of them."""
_MOST_ROWS = 196
"""Elements of a channel in a workgroup: with a panel of filters they stay in the second cache."""
_ELEMENT, _ELEMENT_BITS = "f32", 32


@dataclass(frozen=True, slots=True)
class _Direct:
    """A convolution over a flat image, without loops of one step."""

    op: Structured
    row: int
    """The loop along a row of the image."""
    column: int
    """The loop along a panel."""
    panel: int | None
    """The loop from panel to panel; None where there is one."""
    channel: int

    @property
    def depth(self) -> int | None:
        """Channels that are summed in one step; None where none divides them."""
        return depth_of(self.op.domain[self.channel])

    @property
    def pixel_bytes(self) -> int:
        """How far apart two neighbours in a row of the image lie."""
        beside = {d for form in self.op.maps[0][1:] for d in form.dims}
        return math.prod(self.op.domain[d] for d in beside) * _ELEMENT_BITS // 8

    @property
    def panels(self) -> int:
        """How many there are."""
        return 1 if self.panel is None else self.op.domain[self.panel]

    def suits(self, tile: VectorTile) -> bool:
        """Whether a tile divides the row and the panels, and is as wide as one of these."""
        columns, width = self.op.domain[self.column], self.op.domain[self.row]
        return columns == tile.columns and self.panels % tile.panels == 0 and width % tile.rows == 0


def convolution_tiles(
    op: Op, types: tuple[TensorType, ...], registers: VectorRegisters
) -> Iterator[VectorTile]:
    """Tiles for a convolution whose filters lie in panels: as many rows as there is room for.

    Nothing where loops or maps do not suit, or where too few registers would hold sums.
    """
    found = _direct(op, types)
    if found is None:
        return
    columns, width = found.op.domain[found.column], found.op.domain[found.row]
    if columns * _ELEMENT_BITS != registers.bits:
        return
    for vectors in _VECTORS:
        most = registers.most_rows(vectors, found.pixel_bytes)
        rows = max(r for r in range(1, most + 1) if width % r == 0)
        filled = rows * vectors * _LEAST_FILLED >= registers.count or rows == width
        tile = VectorTile(rows, columns, panels=vectors)
        if filled and found.suits(tile):
            yield tile


def with_direct_convolutions(graph: Graph, tile: VectorTile) -> Graph:
    """The graph where every convolution that a tile suits has the schedule of that tile."""

    def scheduled(op: Op) -> Structured | None:
        found = _direct(op, graph.types)
        if found is None or not found.suits(tile):
            return None
        return replace(found.op, schedule=_schedule(found, tile), generalized=True)

    return with_flat_images(graph, scheduled)


def _direct(op: Op, types: tuple[TensorType, ...]) -> _Direct | None:
    """The convolution over a flat image; None where loops or maps do not suit."""
    if not isinstance(op, Structured) or not op.is_contraction or op.body.reads_index:
        return None
    if {*op.body.arguments} != {_ELEMENT}:
        return None
    whole = over_flat_image(op, types, _apart(op))
    if whole is None:
        return None
    whole = with_merged_sums(whole)
    image, *apart = whole.maps[0]
    kind = roles(whole)
    along = [f.dims[0] for f in whole.result_maps[0] if f.dims[0] in kind.m]
    beside = [form.plain_dim for form in apart]
    if not along or not beside or {*beside} != {*kind.batch, *kind.k} or beside[-1] not in kind.k:
        return None
    made = [form.dims[0] for form in whole.result_maps[0]]
    panel = next((d for d in made[-2:-1] if d in kind.n), None)
    found = _Direct(whole, along[-1], made[-1], panel, beside[-1])
    panels = found.column in kind.n and whole.source_maps[1][-1].plain_dim == found.column
    suits = image.coefficient(found.row) == 1
    return found if panels and suits and kind.window and found.depth else None


def _apart(op: Structured) -> int:
    """The last dims of the image that no window runs along: channels, groups, parts of a stride."""
    kind = roles(op)
    count = 0
    for form in reversed(op.source_maps[0][1:]):
        if form.plain_dim not in (*kind.k, *kind.batch):
            break
        count += 1
    return max(1, count)


def _schedule(found: _Direct, tile: VectorTile) -> Schedule:
    op = found.op
    loops = range(len(op.domain))
    parallel = [d for d in loops if d not in op.reduction_dims]
    width = op.domain[found.row]
    outer = {found.row: width, found.column: tile.columns}
    inner = {found.row: tile.rows, found.column: tile.columns}
    if found.panel is not None:
        outer[found.panel] = inner[found.panel] = tile.panels
    above = [d for d in roles(op).m if d != found.row]
    if above:
        height = op.domain[above[-1]]
        most = max(1, _MOST_ROWS // width)
        fitting = [h for h in range(1, most + 1) if height % h == 0]
        others = math.prod(op.domain[d] for d in parallel if d not in (found.row, above[-1]))
        workgroups = others // (tile.columns * tile.panels)
        outer[above[-1]] = tile.balanced(fitting, height, workgroups)
    deep = {found.channel: found.depth or 1}
    return Schedule(
        tuple(outer.get(d, 1) if d in parallel else 0 for d in loops),
        tuple(inner.get(d, 1) if d in parallel else 0 for d in loops),
        tuple(deep.get(d, 1) if d not in parallel else 0 for d in loops),
        windowed=True,
    )
