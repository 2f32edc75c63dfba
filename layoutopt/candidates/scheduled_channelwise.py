"""Convolutions of groups and pooling with a schedule of their own, groups side by side.

    y[h,w,f,g] += x[h + i, w + j, c, g] * w[i,j,c,f,g]
      ->
    y[h,w,f,g] += x'[W*h + W*i + w + j, c, g] * w[i,j,c,f,g]      likewise max, and other folds

Each group is worked on by itself: of a depthwise convolution and of pooling, each channel. With
groups last in memory, registers hold ``rows x columns`` of y, neighbours in a row of the image by
neighbouring groups, of a few features each, while window and channels run. x' is x with its image
dims flattened, W elements of the image to a row: over plain windows IREE 3.13 takes tiles of its
own, by which 7x7 pixels of 960 channels take ten times as long. Strided rows are read one at a
time: as vectors they would hold what lies between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from layoutopt.candidates.flat_image import over_flat_image, with_flat_images
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.graph import Graph, Op, Structured
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.ir.types import TensorType, element_bytes

_VECTORS = (4, 2, 1)
"""Vectors side by side."""
_LEAST_COLUMNS = 4
"""Groups side by side where fewer than a vector holds divide them."""
_MOST_COLUMNS, _FILTER_BYTES = 256, 16 << 10
"""Groups of a workgroup, whose filters stay in the first cache: those of a pixel are neighbours."""
_FEATURES = 4
"""Of a group, held beside each other: what is read of the image serves all of them."""
_TILES = 2
"""Tiles that are tried for one op: those that hold most."""
_LEAST_FILLED = 4
"""A tile that uses fewer registers than one in so many for results waits for each of them."""
_SUMS, _SUM_BITS = ("f32", "i32"), 32
"""The element types of results that vectors hold."""


@dataclass(frozen=True, slots=True)
class _Grouped:
    """An op on windows of each group, over a flat image and without loops of one step."""

    op: Structured
    row: int
    """The loop along a row of the image."""
    group: int
    features: tuple[int, ...]
    """Loops over results of a group that read the same of the image."""
    pixel_bytes: int
    """How far apart two neighbours in a row of the image lie."""

    @property
    def width(self) -> int:
        """Of a row of the result."""
        return self.op.domain[self.row]

    @property
    def groups(self) -> int:
        """How many there are."""
        return self.op.domain[self.group]

    @property
    def held_features(self) -> int:
        """Features that registers hold for one pixel and group."""
        sizes = [self.op.domain[d] for d in self.features[-1:]]
        return max(
            (n for size in sizes for n in range(1, _FEATURES + 1) if size % n == 0), default=1
        )

    @property
    def is_strided(self) -> bool:
        """Whether neighbours in a row of the result are none in the image."""
        return self.op.maps[0][0].coefficient(self.row) != 1

    def suits(self, tile: VectorTile) -> bool:
        """Whether a tile divides the row and the groups."""
        rows = tile.rows == 1 or not self.is_strided
        return rows and self.width % tile.rows == 0 and self.groups % tile.columns == 0


def channelwise_tiles(
    op: Op, types: tuple[TensorType, ...], registers: VectorRegisters
) -> tuple[VectorTile, ...]:
    """The tiles to try for an op that works on windows of each group; none for other ops."""
    found = _grouped(op, types)
    if found is None:
        return ()
    tiles: list[VectorTile] = []
    features = found.held_features
    for columns in _columns(found.groups, registers.bits // _SUM_BITS):
        vectors = max(1, columns * _SUM_BITS // registers.bits)
        held = registers.most_rows(vectors, found.pixel_bytes, repeats=False) // features
        if held == 0:
            continue
        most = 1 if found.is_strided else held
        rows = max(r for r in range(1, most + 1) if found.width % r == 0)
        filled = rows * features * vectors * _LEAST_FILLED >= registers.count
        if filled or rows == found.width or found.is_strided:
            tiles.append(VectorTile(rows, columns))
    ranked = sorted(tiles, key=lambda tile: (tile.rows * tile.columns, tile.columns), reverse=True)
    return tuple(ranked[:_TILES])


def with_channelwise_schedules(graph: Graph, tile: VectorTile) -> Graph:
    """The graph where every op on windows of each group that a tile suits has its schedule."""

    def scheduled(op: Op) -> Structured | None:
        found = _grouped(op, graph.types)
        if found is None or not found.suits(tile):
            return None
        return replace(found.op, schedule=_schedule(found, tile), generalized=True)

    return with_flat_images(graph, scheduled)


def _grouped(op: Op, types: tuple[TensorType, ...]) -> _Grouped | None:
    """The op over a flat image; None where loops or maps do not suit."""
    if not isinstance(op, Structured) or not op.reduction_dims or op.body.reads_index:
        return None
    if len(op.sources) != 2 or len(op.results) != 1 or not op.maps[0]:
        return None
    if types[op.results[0]].element not in _SUMS:
        return None
    whole = over_flat_image(op, types, _apart(op))
    if whole is None or not whole.result_maps[0]:
        return None
    image, *between, last = whole.maps[0]
    made = [form.dims[0] for form in whole.result_maps[0]]
    window = [form.dims[0] for form in whole.source_maps[1]]
    group, reduced = made[-1], {*whole.reduction_dims}
    summed = {d for form in between for d in form.dims}
    along = [d for d in made if d in image.dims]
    features = tuple(d for d in made if d in window and d != group and d not in image.dims)
    if last.plain_dim != group or group in image.dims or not along:
        return None
    if group in window[:-1] or {*window} & {*along} or not reduced & {*image.dims}:
        return None
    if {*image.dims, *summed, *features, group} != {*range(len(whole.domain))}:
        return None
    if not reduced <= {*image.dims, *summed}:
        return None
    bytes_each = element_bytes(types[op.sources[0]].element)
    pixel = math.prod(whole.domain[d] for d in (*summed, group))
    return _Grouped(whole, along[-1], group, features, pixel * bytes_each)


def _apart(op: Structured) -> int:
    """The last dims of the image that no window runs along: groups, and channels ahead of them."""
    count = 1
    for form in reversed(op.source_maps[0][:-1]):
        if form.plain_dim not in op.reduction_dims:
            break
        count += 1
    return count


def _columns(groups: int, lanes: int) -> tuple[int, ...]:
    """The widths of tiles: some vectors, or a part of one where no vector divides the groups."""
    whole = tuple(v * lanes for v in _VECTORS if groups % (v * lanes) == 0)
    if whole:
        return whole
    part = math.gcd(groups, lanes)
    return (part,) if part >= _LEAST_COLUMNS else ()


def _schedule(found: _Grouped, tile: VectorTile) -> Schedule:
    op = found.op
    loops = range(len(op.domain))
    parallel = [d for d in loops if d not in op.reduction_dims]
    block = _block(found, tile)
    outer = {found.row: found.width, found.group: block} | {d: op.domain[d] for d in found.features}
    above = [d for d in parallel if d not in outer]
    if above:
        height = op.domain[above[-1]]
        fitting = [h for h in range(1, height + 1) if height % h == 0]
        others = math.prod(op.domain[d] for d in above[:-1]) * found.groups // block
        outer[above[-1]] = tile.balanced(fitting, height, others)
    inner = {found.row: tile.rows, found.group: tile.columns}
    inner |= dict.fromkeys(found.features[-1:], found.held_features)
    return Schedule(
        tuple(outer.get(d, 1) if d in parallel else 0 for d in loops),
        tuple(inner.get(d, 1) if d in parallel else 0 for d in loops),
        tuple(0 if d in parallel else 1 for d in loops),
        windowed=True,
    )


def _block(found: _Grouped, tile: VectorTile) -> int:
    """The groups of a workgroup, in whole tiles."""
    op = found.op
    each = math.prod(op.domain[d] for d in (*op.reduction_dims, *found.features)) * _SUM_BITS // 8
    most = max(tile.columns, min(_MOST_COLUMNS, _FILTER_BYTES // each))
    blocks = range(tile.columns, most + 1, tile.columns)
    return max(n for n in blocks if found.groups % n == 0)
