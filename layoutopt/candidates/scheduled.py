"""Contractions with a schedule of their own, weights in panels.

    y[m,n] += x[m,k] * w[k,n]
      ->
    y[m,N,n'] += x[m,k] * w'[N,k,n']        n = N * columns + n', w' laid out ahead of time

The memory of y is that of a row-major m x n, so nothing is packed at run time, and a panel of the
weights, a vector wide, is read front to back. Registers hold rows of a few panels of y while k
runs, ``rows x panels x columns``. Which tiles are to try follows from the registers (van Zee and
van de Geijn, BLIS, ACM TOMS 2015, section 4): a few vectors side by side, and as many rows as
registers are left for and as the first cache holds a line of each. Rows a multiple of 4 KB apart
(1,024 sums of f32) push each other out of it: where it has eight ways, fifteen of them take a
quarter longer than eight. Where a tile leaves some of the rows, columns or panels, the compiler
peels these off, as a loop of their own; left inside, they would make every row slow.

A panel as wide as the tile would be read alone; several are read at once, and weights come from
memory faster: 128 x 768 x 768 takes 0.95 to 1.01 ms in place of 1.10 to 1.22 on an AVX-512 server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from layoutopt.candidates.matmul_form import collapse, is_collapsible
from layoutopt.candidates.packing.tiling import ordered, tiled_layout
from layoutopt.candidates.preference import in_order, innermost_loop
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.graph import Graph, GraphBuilder, Op, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.roles import is_windowed, roles
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.ir.size import Size, planned
from layoutopt.ir.types import TensorType, element_bytes

_VECTORS = (2, 4)
"""Vectors side by side."""
_PEELED_VECTORS = (2, 4, 1)
"""The same where none of these leaves nothing, in the order in which they are tried."""
_MOST_PEELED = 2
"""Widths that are tried where none leaves nothing."""
_LEAST_COLUMNS = 4
"""Columns that are tried where there are fewer than a vector has lanes."""
_MOST_ROWS = 196
"""Rows of a workgroup: with a panel of the weights they stay in the second cache."""
_OPEN_ROWS = 64
"""The same where the size is known at run time only; the last workgroup has fewer."""
_LEAST_FILLED = 4
"""A tile that uses fewer registers than one in so many for sums waits for each of them."""
_AS_FAST = 1.1
"""Times the instructions of a tile that fills the registers, up to which tiles are about as fast.

With AVX-512 a product reads its number of the first factor by itself: tiles of 4x32, 4x64 and 8x32
took the same time."""
_ABOUT_AS_FAST = 0.97
"""What a tile with a rest takes at most of the time of one without, by `_peeled_rows`, to be tried
in its place.

What that counts is little to what it is (AVX-512 server): for 0.95 and 0.96, of 49 rows 14x32 takes
0.83 of 7x32 (512 columns, 2,048 sums), and of 128 rows 13x32 takes 0.93 of 8x32 (768 x 768); of
196, 784, 128, 64 and 32 rows 6x64 takes 0.87 to 0.96 of 4x64."""
_SUMS, _SUM_BITS = ("f32", "i32"), 32
"""The element types of the sums that vectors hold; of others no tile was seen to pay."""


def vector_tiles(
    op: Structured, types: tuple[TensorType, ...], registers: VectorRegisters
) -> tuple[VectorTile, ...]:
    """The tiles to try for a contraction; none where the loops do not suit.

    ``op``: as the smallest contraction, over row-major tensors.
    """
    found = _loops(op)
    if found is None or types[op.results[0]].element not in _SUMS or is_windowed(op):
        return ()
    row, column = found
    height, width = op.domain[row], op.domain[column]
    fitting = _fitting(width, registers.bits // _SUM_BITS)
    stride_bytes = row_bytes(op, row, types)
    tiles = (
        VectorTile(rows, columns, width % columns)
        for vectors, columns in fitting
        for rows in _heights(height, vectors, stride_bytes, registers)
    )
    return tuple(dict.fromkeys(tiles))


def panel_tiles(
    op: Structured, types: tuple[TensorType, ...], registers: VectorRegisters
) -> tuple[VectorTile, ...]:
    """The same for a contraction whose weights lie in panels."""
    found = _loops(op)
    panel = None if found is None else _panel_loop(op, found[1])
    if found is None or panel is None:
        return vector_tiles(op, types, registers)  # there is one panel alone
    if types[op.results[0]].element not in _SUMS or is_windowed(op):
        return ()
    row, column = found
    stride_bytes = row_bytes(op, row, types)
    beside = [vectors for vectors in _VECTORS if vectors <= planned(op.domain[panel])]
    tiles = (
        VectorTile(rows, op.domain[column], panels=panels)
        for panels in beside
        for rows in _heights(op.domain[row], panels, stride_bytes, registers)
    )
    return tuple(dict.fromkeys(tiles))


def _heights(
    height: int, vectors: int, stride_bytes: int, registers: VectorRegisters
) -> Iterator[int]:
    """The rows of tiles so many vectors wide."""
    most = registers.most_rows(vectors, stride_bytes)
    peeled = _peeled_rows(height, vectors, registers, most)
    if peeled is not None:
        yield peeled
    if peeled is None or isinstance(height, Size):
        whole = dividing_rows(height, vectors, registers, most)
        if whole is not None:
            yield whole


def instructions(size: tuple[int, int], tile: tuple[int, int], registers: VectorRegisters) -> float:
    """Of one step in k, for each vector of products where vectors divide the columns.

    ``size``, ``tile``: rows and columns. Each tile multiplies, reads its vectors of the second
    factor, and a number of the first for each row.
    """
    lanes = registers.bits // _SUM_BITS
    needed = 0
    for down, rows in _shares(size[0], tile[0]):
        for beside, columns in _shares(size[1], tile[1]):
            vectors = -(-columns // lanes)
            needed += down * beside * (rows * vectors + vectors + rows)
    return needed * lanes / (planned(size[0]) * planned(size[1]))


def excess_instructions(
    size: tuple[int, int], tile: tuple[int, int], registers: VectorRegisters
) -> float:
    """How many times those of a fast tile, two vectors wide, a tile needs; 1 or more."""
    columns = 2 * registers.bits // _SUM_BITS
    full = registers.count // 2 - 1, columns
    fast = _AS_FAST * instructions(full, full, registers)
    return max(1.0, instructions(size, tile, registers) / fast)


def _shares(size: int, part: int) -> tuple[tuple[int, int], ...]:
    """How often a size has parts of what size: whole ones, and what is left."""
    whole, rest = divmod(planned(size), part)
    return (whole, part), (int(rest != 0), rest)


def scheduled_tile(op: Structured) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Rows and columns of a contraction and of its tile; None where it has none."""
    found = None if op.schedule is None or is_windowed(op) else _loops(op)
    if op.schedule is None or found is None:
        return None
    row, column = found
    panel = _panel_loop(op, column)
    beside = (column,) if panel is None else (column, panel)
    vector = op.schedule.vector
    width = math.prod(planned(op.domain[d]) for d in beside)
    return (op.domain[row], width), (vector[row], math.prod(vector[d] for d in beside))


def row_bytes(op: Structured, row: int, types: tuple[TensorType, ...]) -> int:
    """How far apart two rows of the first factor lie; an open size counts as planned."""
    kind = types[op.sources[0]]
    axis = next(i for i, form in enumerate(op.source_maps[0]) if row in form.dims)
    return math.prod(map(planned, kind.shape[axis + 1 :])) * element_bytes(kind.element)


def _fitting(width: int, lanes: int) -> list[tuple[int, int]]:
    """The widths of tiles to try, in vectors and in columns."""
    whole = [(v, v * lanes) for v in _VECTORS if width % (v * lanes) == 0]
    if whole or isinstance(width, Size):
        return whole
    if width < lanes:
        return [(1, width)] if width >= _LEAST_COLUMNS and _is_power_of_two(width) else []
    peeled = [(v, v * lanes) for v in _PEELED_VECTORS if _leaves_little(width, v * lanes, lanes)]
    return peeled[:_MOST_PEELED]


def _leaves_little(width: int, columns: int, lanes: int) -> bool:
    """Whether what whole tiles leave of the columns is fast: at most a vector, or half of a tile.

    IREE takes vectors of 24, 40 or 48 numbers apart, one by one.
    """
    rest = width % columns
    return columns <= width and (rest <= lanes or _is_power_of_two(rest))


def _is_power_of_two(n: int) -> bool:
    return n & (n - 1) == 0


def dividing_rows(height: int, vectors: int, registers: VectorRegisters, most: int) -> int | None:
    """The most rows, ``most`` or fewer, that divide the height; None where that is too few."""
    rows = max(r for r in range(1, most + 1) if height % r == 0)
    short = rows == height or isinstance(height, Size)  # an open size may be one
    filled = rows * vectors * _LEAST_FILLED >= registers.count
    return rows if filled or short else None


def _peeled_rows(height: int, vectors: int, registers: VectorRegisters, most: int) -> int | None:
    """The rows of a tile that leaves a rest; None where one without a rest is about as fast.

    Of an open height the rest may be all there is, so the tile is as low as fills half of the
    registers or a few more: with fewer sums a multiplication waits for the last one of its own.
    """
    if isinstance(height, Size):
        rows = min(most, -(-registers.count // (2 * vectors)))
        return rows if height % rows != 0 else None
    if height <= most:
        return None
    least = registers.count // _LEAST_FILLED

    def time(rows: int) -> int:
        """Of one step in k: a vector of sums after the other, and one of the second factor."""
        whole, rest = divmod(height, rows)
        shares = ((whole, rows), (1, rest))
        return sum(n * (max(r * vectors, least) + vectors) for n, r in shares if r)

    best = min(range(1, most + 1), key=lambda rows: (time(rows), -rows))
    whole = max(rows for rows in range(1, most + 1) if height % rows == 0)
    return best if time(best) < _ABOUT_AS_FAST * time(whole) else None


def panel_columns(registers: VectorRegisters) -> int:
    """The width of a panel: one vector."""
    return registers.bits // _SUM_BITS


def panel_layout(
    op: Structured,
    kind: TensorType,
    around: tuple[Layout, Layout],
    columns: int,
    padded: bool = False,
) -> Layout | None:
    """The layout of constant weights (the second input) in panels.

    ``around``: the layouts of the first input and of the result. None where the innermost loop of
    the result is none of the columns, and where panels do not divide these, unless the last one is
    ``padded``. Sums run in the order of the first input, so that their loops merge.
    """
    r, (read, made) = roles(op), around
    innermost = innermost_loop(op.result_maps[0], made, op.domain)
    if innermost not in r.n or not (padded or op.domain[innermost] % columns == 0):
        return None
    if any(innermost in f.dims and f.plain_dim is None for f in op.source_maps[1]):
        return None
    k = (*r.window, *r.k) if is_windowed(op) else in_order(op.source_maps[0], read, r.k)
    order = (*r.batch, *(n for n in r.n if n != innermost), innermost, *k)
    outer = ordered(op.source_maps[1], order)
    return tiled_layout(op.source_maps[1], kind, outer, ((innermost, columns),))


def with_schedule(graph: Graph, tile: VectorTile) -> Graph:
    """The graph where every contraction whose columns a tile suits has that tile's schedule."""

    def schedule(op: Structured) -> Schedule | None:
        found = _loops(op)
        if found is None or not _suits(op.domain[found[1]], tile):
            return None
        panel = _panel_loop(op, found[1]) if tile.panels > 1 else None
        if tile.panels > 1 and panel is None:
            return None
        return _schedule(op, *found, panel, tile)

    return scheduled_graph(graph, schedule)


def scheduled_graph(graph: Graph, schedule_of: Callable[[Structured], Schedule | None]) -> Graph:
    """The graph where every contraction has the schedule that a function has for it, if any.

    It loses its loops of size one, which the compiler takes out, and the schedule with them.
    """
    builder = GraphBuilder(len(graph.types))
    ops: list[Op] = []
    for op in graph.ops:
        scheduling = isinstance(op, Structured) and op.is_contraction
        schedule = schedule_of(op) if scheduling and isinstance(op, Structured) else None
        if schedule is None or not isinstance(op, Structured):
            ops.append(op)
            continue
        wide = _wide_loops(op)
        scheduled = replace(op, schedule=schedule, generalized=True)
        if len(wide) == len(op.domain) or not is_collapsible(op, graph):
            ops.append(scheduled)
            continue
        before = len(builder.ops)
        narrow = replace(scheduled, schedule=schedule.of(wide))
        collapse(narrow, [(d,) for d in wide], graph, builder)
        ops += builder.ops[before:]
    return Graph((*graph.types, *builder.types), tuple(ops), graph.inputs, graph.outputs)


def _suits(width: int, tile: VectorTile) -> bool:
    """Whether a tile leaves nothing of the columns, or as many as it was chosen for."""
    left = width % tile.columns
    if isinstance(width, Size):
        return left == 0
    return width >= tile.columns and left in (0, tile.rest)


def _wide_loops(op: Structured) -> tuple[int, ...]:
    return tuple(d for d, n in enumerate(op.domain) if n != 1)


def _schedule(
    op: Structured, row: int, column: int, panel: int | None, tile: VectorTile
) -> Schedule:
    height, width = op.domain[row], op.domain[column]
    peeled = tile.rows != 1 and height % tile.rows != 0
    rows = _shared_rows(height, tile.rows) if peeled else _even_rows(height, tile.rows)
    if isinstance(height, Size):  # the compiler does not know what divides it
        peeled = tile.rows != 1
        rows = max(rows, _OPEN_ROWS // tile.rows * tile.rows)
    reduced = set(op.reduction_dims)
    parallel = [d for d in range(len(op.domain)) if d not in reduced]
    wide = width if width % tile.columns else tile.columns
    others = [planned(op.domain[d]) for d in parallel if d not in (row, column, panel)]
    workgroups = math.prod(others) * planned(width) // planned(wide)
    if panel is not None:
        workgroups *= -(-planned(op.domain[panel]) // tile.panels)
    if tile.threads > 1 and not isinstance(height, Size):
        rows = _balanced_rows(height, rows, workgroups, tile)
        peeled = peeled or height % rows != 0
    outer = {row: rows, column: wide}
    inner = {row: tile.rows, column: tile.columns}
    if panel is not None:
        outer[panel] = inner[panel] = tile.panels
        peeled = peeled or op.domain[panel] % tile.panels != 0
    return Schedule(
        tuple(outer.get(d, 1) if d in parallel else 0 for d in range(len(op.domain))),
        tuple(inner.get(d, 1) if d in parallel else 0 for d in range(len(op.domain))),
        tuple(int(d in reduced) for d in range(len(op.domain))),
        peeled=peeled or width % tile.columns != 0,
    )


def _even_rows(height: int, rows: int) -> int:
    """The most rows of a workgroup, in whole tiles, where all workgroups have as many."""
    several = range(rows, max(rows, _MOST_ROWS) + 1, rows)
    return max(r for r in several if height % r == 0)


def _balanced_rows(height: int, most: int, others: int, tile: VectorTile) -> int:
    """The rows of a workgroup, in whole tiles, at most as many: all threads are to be busy.

    ``others``: workgroups over the same rows. Rows that divide the height leave no rest to peel:
    these are taken, unless there are far fewer of them.
    """
    sizes = {most, *range(tile.rows, most, tile.rows)}
    best = tile.balanced(sorted(sizes), height, others)
    whole = [rows for rows in sizes if height % rows == 0 and rows % tile.rows == 0]
    dividing = tile.balanced(whole, height, others) if whole else 0
    return dividing if 2 * dividing >= best else best


def _shared_rows(height: int, rows: int) -> int:
    """The rows of a workgroup, in whole tiles but where there is one workgroup alone."""
    if isinstance(height, Size):
        return rows
    workgroups = max(1, round(height / _MOST_ROWS))
    return height if workgroups == 1 else -(-height // (workgroups * rows)) * rows


def _loops(op: Structured) -> tuple[int, int] | None:
    """The loops of the rows and columns of a tile.

    None where the innermost loops are others: columns have to be innermost in the weights and in
    the result, and the first input has to lie along a summed loop.
    """
    r = roles(op)
    dims = [[f.plain_dim for f in m if f.dims and _wide(f.dims, op)] for m in op.maps]
    lhs, rhs, made = dims
    if any(d is None for row in dims for d in row) or not (lhs and rhs and made):
        return None
    column, reduced = made[-1], set(op.reduction_dims)
    if column is None or column not in r.n or rhs[-1] != column or lhs[-1] not in reduced:
        return None
    rows = [d for d in made if d in r.m] or list(r.m)
    return None if not rows or rows[-1] is None else (rows[-1], column)


def _panel_loop(op: Structured, column: int) -> int | None:
    """The loop of panels, around that of the columns in the result; None where there is none."""
    made = [f.plain_dim for f in op.result_maps[0] if f.dims and _wide(f.dims, op)]
    around = made[made.index(column) - 1] if column in made[1:] else None
    return around if around in roles(op).n else None


def _wide(dims: tuple[int, ...], op: Structured) -> bool:
    return any(op.domain[d] != 1 for d in dims)
