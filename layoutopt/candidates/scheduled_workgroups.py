"""Contractions on a GPU with tiles of their own: of a workgroup, and of what its threads hold.

A workgroup sums up ``rows x columns`` of the result, ``depth`` terms between two loads. What it
loads lies in memory that its threads share. Where they multiply by matrix instructions, each
subgroup (the lanes that run in step) has a part of the tile; without these each thread has one.

    tile                     small            large
    workgroups               many, all units  few, some units have none
    loads of each factor     often            seldom
    sums that wait           few              many, which hides the time that loads take

Compilers' own tiles are far off where rows are few, as of one sentence (128 x 768 in tiles of
32 x 128 are 24 workgroups for the 132 units of an H100), or where nothing goes through shared
memory (2,048 rows, columns and terms in f32 take 1,838 us there, and 253 in tiles of 64 x 128).
The space is what the instructions, the lanes and the memory of a workgroup allow; a model of the
three lines above ranks it (as CUTLASS's and hipBLASLt's heuristics do: waves over units, bytes per
tile, latency per step), and the first few are priced like all else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from layoutopt.candidates.scheduled import scheduled_graph
from layoutopt.compiler.gpu import GpuUnits, MatrixInstruction
from layoutopt.ir.graph import Fill, Graph, Structured
from layoutopt.ir.roles import is_windowed, roles
from layoutopt.ir.schedule import Schedule, Workgroup, WorkgroupTile
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType, element_bytes

_SUBGROUPS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (2, 4), (4, 2))
"""How the subgroups of a workgroup share its rows and columns."""
_HELD = (1, 2, 4)
"""Matrix instructions along the rows and columns of a subgroup's part."""
_STEPS = (1, 2, 4, 8, 16)
"""Matrix instructions along the summed loop between two loads."""
_MOST_DEPTH = 256
_THREADS = ((8, 8), (4, 16), (8, 16), (16, 8), (16, 16), (8, 32), (4, 32))
"""The same without matrix instructions: threads along rows and columns, and what each holds."""
_HELD_BY_A_THREAD = ((2, 2), (2, 4), (4, 4), (8, 4), (4, 8), (8, 8))
_DEPTHS = (16, 32)
_MOST_SUMS = 64
"""Numbers that a lane sums up at once: with as many factors they fill half of its registers."""
MOST_PADDED = 1.34
"""Times the work of the loops as they are, what padding them may make of it."""
_STAGES = 2
"""Tiles of the factors in shared memory: one is loaded while the other one is read."""
_MOST_TILES = 8
"""That are priced: each is compiled."""
_LOAD_NS = 500.0
"""From asking main memory or the last cache for something until it is there."""
_UNIT_GB_S = 50.0
"""What one unit reads in a second from the cache that all share."""
_UNIT_GFLOPS = {True: 4000.0, False: 500.0}
"""One unit's rate by matrix instructions, and without: orders of magnitude of current GPUs."""
_READS = {True: 2.0, False: 4.0}
"""Products that each number read from shared memory has to serve for that rate, in those of one
instruction: on an H100 without any, 4x4 in a thread reach it, 2x4 two thirds."""
_USUAL_THREADS = 256
"""Of two tiles that should take as long, the one with as many threads, or nearly, is tried."""


@dataclass(frozen=True, slots=True)
class MatrixSizes:
    """Of a matrix product, and what it is made of."""

    others: int
    """Workgroups for each tile of the result: those of batch loops."""
    rows: int
    columns: int
    depth: int
    element_bytes: int


def workgroup_tiles(
    op: Structured, types: tuple[TensorType, ...], units: GpuUnits, compute_units: int
) -> tuple[WorkgroupTile, ...]:
    """The tiles to try for a contraction, by a model of their time; none where loops do not suit.

    ``op``: as the smallest contraction. ``compute_units``: of the GPU.
    """
    loops = _loops(op)
    if loops is None or is_windowed(op) or not all(isinstance(i, Fill) for i in op.inits):
        return ()
    row, column, summed = (op.domain[loop] for loop in loops)
    kinds = {types[t].element for t in op.sources}
    if any(isinstance(n, Size) for n in op.domain) or len(kinds) != 1:
        return ()
    element, sums = kinds.pop(), types[op.results[0]].element
    others = math.prod(op.domain) // (row * column * summed)
    sizes = MatrixSizes(others, row, column, summed, element_bytes(element))
    tiles = list(matrix_tiles(element, sums, units))
    if not tiles and sums in ("f32", "i32"):
        tiles = list(_vector_tiles(units))
    fitting = [t for t in tiles if fits(t, sizes.element_bytes, units) and _pads_little(t, sizes)]
    return best_tiles(fitting, lambda _: sizes, compute_units)


def best_tiles(
    fitting: Sequence[WorkgroupTile],
    sizes_of: Callable[[WorkgroupTile], MatrixSizes],
    compute_units: int,
) -> tuple[WorkgroupTile, ...]:
    """The first tiles by a model of their time, each of another shape.

    ``sizes_of``: what a tile works on.
    """

    def order(tile: WorkgroupTile) -> tuple[float, int, WorkgroupTile]:
        idle = max(0, _USUAL_THREADS - tile.threads)
        return _time_ns(tile, sizes_of(tile), compute_units), idle, tile

    return tuple(_different(sorted(fitting, key=order)))


def with_workgroups(graph: Graph, tile: WorkgroupTile) -> Graph:
    """The graph where every contraction has that tile's schedule."""

    def schedule(op: Structured) -> Schedule | None:
        loops = _loops(op)
        return None if loops is None else _schedule(op, loops, tile)

    return scheduled_graph(graph, schedule)


def _schedule(op: Structured, loops: tuple[int, int, int], tile: WorkgroupTile) -> Schedule:
    row, column, summed = loops
    m, n, k = tile.of_one
    whole = {row: tile.rows, column: tile.columns, summed: tile.depth}
    outer = {row: tile.rows, column: tile.columns}
    inner = {row: tile.held_rows // m, column: tile.held_columns // n}
    beside = 0 if tile.instruction else 1
    reduced, every = set(op.reduction_dims), range(len(op.domain))
    rest = any(op.domain[loop] % size for loop, size in whole.items())
    return Schedule(
        tuple(0 if d in reduced else outer.get(d, 1) for d in every),
        tuple(0 if d in reduced else inner.get(d, beside) for d in every),
        tuple(tile.depth // k if d == summed else int(d in reduced) for d in every),
        workgroup=Workgroup(
            tile.threads,
            tile.subgroup,
            tile.instruction,
            tuple(whole.get(d, 1) for d in every) if rest else (),
        ),
    )


def _loops(op: Structured) -> tuple[int, int, int] | None:
    """The loops of rows, columns and terms: the innermost of each; None where there is no such."""
    r = roles(op)
    made = [f.plain_dim for f in op.result_maps[0]]
    rows = [d for d in made if d in r.m and op.domain[d] != 1]
    columns = [d for d in made if d in r.n and op.domain[d] != 1]
    terms = [d for d in r.k if op.domain[d] != 1]
    if not rows or not columns or not terms:
        return None
    row, column = rows[-1], columns[-1]
    assert row is not None
    assert column is not None
    return row, column, terms[-1]


def _deepest(instructions: list[MatrixInstruction]) -> list[MatrixInstruction]:
    """Of those with the same rows and columns the one that sums up the most terms."""
    found: dict[tuple[int, int], MatrixInstruction] = {}
    for one in instructions:
        known = found.setdefault((one.m, one.n), one)
        if one.k > known.k:
            found[one.m, one.n] = one
    return list(found.values())


def matrix_tiles(element: str, sums: str, units: GpuUnits) -> Iterator[WorkgroupTile]:
    """The tiles by matrix instructions, for factors and sums of these types."""
    suiting = [i for i in units.instructions if (i.element, i.sums) == (element, sums)]
    for one in _deepest(suiting):
        yield from _tiles_of(one, units)


def _tiles_of(one: MatrixInstruction, units: GpuUnits) -> Iterator[WorkgroupTile]:
    for (p, q), a, b, steps in itertools.product(_SUBGROUPS, _HELD, _HELD, _STEPS):
        rows, columns = a * one.m, b * one.n
        if rows * columns <= _MOST_SUMS * units.subgroup and steps * one.k <= _MOST_DEPTH:
            yield WorkgroupTile(
                p * rows, q * columns, steps * one.k, rows, columns,
                units.subgroup, one.name, (one.m, one.n, one.k),
            )  # fmt: skip


def _vector_tiles(units: GpuUnits) -> Iterator[WorkgroupTile]:
    for (p, q), (a, b), depth in itertools.product(_THREADS, _HELD_BY_A_THREAD, _DEPTHS):
        if p * q % units.subgroup == 0:
            yield WorkgroupTile(p * a, q * b, depth, a, b, units.subgroup)


def fits(tile: WorkgroupTile, element_bytes: int, units: GpuUnits) -> bool:
    """Whether a workgroup has the threads and the memory for a tile."""
    held = _STAGES * (tile.rows + tile.columns) * tile.depth * element_bytes
    return tile.threads <= units.most_threads and held <= units.memory_bytes


def _pads_little(tile: WorkgroupTile, sizes: MatrixSizes) -> bool:
    work = math.prod(
        -(-size // part) * part / size
        for size, part in zip(
            (sizes.rows, sizes.columns, sizes.depth),
            (tile.rows, tile.columns, tile.depth),
            strict=True,
        )
    )
    return work <= (MOST_PADDED if tile.instruction else 1.0)


def _time_ns(tile: WorkgroupTile, sizes: MatrixSizes, compute_units: int) -> float:
    """Of the unit that has the most workgroups, which wait for their loads side by side.

    With matrix instructions a workgroup loads ahead; else it waits, loads and multiplies in turn.
    """
    workgroups = sizes.others * -(-sizes.rows // tile.rows) * -(-sizes.columns // tile.columns)
    each = -(-workgroups // compute_units)
    steps = -(-sizes.depth // tile.depth)
    loading = (tile.rows + tile.columns) * tile.depth * sizes.element_bytes / _UNIT_GB_S
    m, n, _ = tile.of_one
    held = tile.held_rows * tile.held_columns / (tile.held_rows + tile.held_columns)
    one = m * n / (m + n)
    share = min(1.0, held / one / _READS[bool(tile.instruction)])
    products = 2 * tile.rows * tile.columns * tile.depth
    computing = products / (_UNIT_GFLOPS[bool(tile.instruction)] * share)
    alone = max(_LOAD_NS, loading) + (0.0 if tile.instruction else computing)
    return steps * max(alone, each * max(computing, loading))


def _different(ranked: list[WorkgroupTile]) -> Iterator[WorkgroupTile]:
    """The first ones, one for each number of lines, rows and columns."""
    taken: set[tuple[int, int, int]] = set()
    for tile in ranked:
        shape = tile.lines, tile.rows, tile.columns
        if len(taken) < _MOST_TILES and shape not in taken:
            taken.add(shape)
            yield tile
