"""Depthwise convolutions and pooling with a schedule of their own, channels side by side.

    y[h,w,c] += x[h + i, w + j, c] * w[i,j,c]
      ->
    y[h,w,c] += x'[W*h + W*i + w + j, c] * w[i,j,c]        likewise max, and all that folds windows

Each channel is worked on by itself, so registers hold ``rows x columns`` of y, neighbours in a row
of the image by neighbouring channels, while the window runs; nothing in memory changes. x' is x
with its image dims flattened, W elements of the image to a row: over plain windows IREE 3.13 takes
tiles of its own, by which 7x7 pixels take ten times as long. Strided rows are read one at a time:
as vectors they would hold what lies between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from layoutopt.candidates.flat_image import over_flat_image, write_over_flat_image
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.graph import Graph, GraphBuilder, Op, Structured
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.ir.types import TensorType, element_bytes

_VECTORS = (4, 2, 1)
"""Vectors side by side."""
_LEAST_COLUMNS = 4
"""Channels side by side where fewer than a vector holds divide them."""
_MOST_CHANNELS = 256
"""Of a workgroup: those of a pixel lie side by side in memory."""
_TILES = 2
"""Tiles that are tried for one op: those that hold most."""
_LEAST_FILLED = 4
"""A tile that uses fewer registers than one in so many for results waits for each of them."""
_SUMS, _SUM_BITS = ("f32", "i32"), 32
"""The element types of results that vectors hold."""


@dataclass(frozen=True, slots=True)
class _Channelwise:
    """An op on windows of each channel, over a flat image and without loops of one step."""

    op: Structured
    row: int
    """The loop along a row of the image."""
    channel: int
    pixel_bytes: int
    """How far apart two neighbours in a row of the image lie."""

    @property
    def width(self) -> int:
        """Of a row of the result."""
        return self.op.domain[self.row]

    @property
    def channels(self) -> int:
        """How many there are."""
        return self.op.domain[self.channel]

    @property
    def is_strided(self) -> bool:
        """Whether neighbours in a row of the result are none in the image."""
        return self.op.maps[0][0].coefficient(self.row) != 1

    def suits(self, tile: VectorTile) -> bool:
        """Whether a tile divides the row and the channels."""
        rows = tile.rows == 1 or not self.is_strided
        return rows and self.width % tile.rows == 0 and self.channels % tile.columns == 0


def channelwise_tiles(
    op: Op, types: tuple[TensorType, ...], registers: VectorRegisters
) -> tuple[VectorTile, ...]:
    """The tiles to try for an op that works on windows of each channel; none for other ops."""
    found = _channelwise(op, types)
    if found is None:
        return ()
    tiles: list[VectorTile] = []
    for columns in _columns(found.channels, registers.bits // _SUM_BITS):
        vectors = max(1, columns * _SUM_BITS // registers.bits)
        most = 1 if found.is_strided else registers.most_rows(vectors, found.pixel_bytes)
        rows = max(r for r in range(1, most + 1) if found.width % r == 0)
        filled = rows * vectors * _LEAST_FILLED >= registers.count
        if filled or rows == found.width or found.is_strided:
            tiles.append(VectorTile(rows, columns))
    held = sorted(tiles, key=lambda tile: (tile.rows * tile.columns, tile.columns), reverse=True)
    return tuple(held[:_TILES])


def with_channelwise_schedules(graph: Graph, tile: VectorTile) -> Graph:
    """The graph where every op on windows of each channel that a tile suits has its schedule."""
    builder = GraphBuilder(len(graph.types))
    ops: list[Op] = []
    for op in graph.ops:
        found = _channelwise(op, graph.types)
        if found is None or not found.suits(tile):
            ops.append(op)
            continue
        before = len(builder.ops)
        scheduled = replace(found.op, schedule=_schedule(found, tile), generalized=True)
        write_over_flat_image(scheduled, graph, builder)
        ops += builder.ops[before:]
    return Graph((*graph.types, *builder.types), tuple(ops), graph.inputs, graph.outputs)


def _channelwise(op: Op, types: tuple[TensorType, ...]) -> _Channelwise | None:
    """The op over a flat image; None where loops or maps do not suit."""
    if not isinstance(op, Structured) or not op.reduction_dims or op.body.reads_index:
        return None
    if len(op.sources) != 2 or len(op.results) != 1:
        return None
    kind = types[op.results[0]]
    if kind.element not in _SUMS or not op.maps[0]:
        return None
    whole = over_flat_image(op, types)
    if whole is None or not whole.result_maps[0]:
        return None
    image, last = whole.maps[0]
    channel = whole.result_maps[0][-1].dims[0]
    along = [f.dims[0] for f in whole.result_maps[0] if f.dims[0] in image.dims]
    window = whole.source_maps[1]
    weights = all(f.dims[0] != channel for f in window[:-1])
    if last.plain_dim != channel or channel in image.dims or not along or not weights:
        return None
    if not set(whole.reduction_dims) <= set(image.dims):
        return None
    read = {*image.dims, channel}
    if not read.issuperset(range(len(whole.domain))) or read & {*_beside(whole)}:
        return None
    pixel_bytes = whole.domain[channel] * element_bytes(types[op.sources[0]].element)
    return _Channelwise(whole, along[-1], channel, pixel_bytes)


def _beside(op: Structured) -> tuple[int, ...]:
    """Loops of the result that the second operand is read along, but for the channels."""
    reduced = op.reduction_dims
    channel = op.result_maps[0][-1].dims[0]
    return tuple(
        f.dims[0] for f in op.source_maps[1] if f.dims[0] not in reduced and f.dims[0] != channel
    )


def _columns(channels: int, lanes: int) -> tuple[int, ...]:
    """The widths of tiles: some vectors, or a part of one where no vector divides the channels."""
    whole = tuple(v * lanes for v in _VECTORS if channels % (v * lanes) == 0)
    if whole:
        return whole
    part = math.gcd(channels, lanes)
    return (part,) if part >= _LEAST_COLUMNS else ()


def _schedule(found: _Channelwise, tile: VectorTile) -> Schedule:
    op = found.op
    loops = range(len(op.domain))
    parallel = [d for d in loops if d not in op.reduction_dims]
    blocks = range(tile.columns, max(tile.columns, _MOST_CHANNELS) + 1, tile.columns)
    block = max(n for n in blocks if found.channels % n == 0)
    outer = {found.row: found.width, found.channel: block}
    above = [d for d in parallel if d not in outer]
    if above:
        height = op.domain[above[-1]]
        fitting = [h for h in range(1, height + 1) if height % h == 0]
        others = math.prod(op.domain[d] for d in above[:-1]) * found.channels // block
        outer[above[-1]] = tile.balanced(fitting, height, others)
    inner = {found.row: tile.rows, found.channel: tile.columns}
    return Schedule(
        tuple(outer.get(d, 1) if d in parallel else 0 for d in loops),
        tuple(inner.get(d, 1) if d in parallel else 0 for d in loops),
        tuple(0 if d in parallel else 1 for d in loops),
        windowed=True,
    )
