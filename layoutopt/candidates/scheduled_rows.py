"""Rows that are reduced on a GPU, each by the lanes of one workgroup, all of it in one dispatch.

    m[r] = max x[r, c];  s[r] = sum exp(x[r, c] - m[r]);  y[r, c] = exp(x[r, c] - m[r]) / s[r]

    lane 0 has c = 0, 32, 64, ..., lane 1 has c = 1, 33, 65, ...; then lanes are added up

IREE 3.13 spreads a row over lanes where whole subgroups divide it. Of 197 elements it has each lane
reduce a row of its own, step by step, and neighbours read memory 197 elements apart. Here lanes
beyond the end of a row are masked, so that any row is spread, and what one lane reads lies beside
what the next one does. Each op computes what it needs of the rows that the dispatch reads, in place
of storing exponentials between two dispatches. The same scalar ops run on the same numbers; only
reductions go in another order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from layoutopt.candidates.matmul_form import reshaped
from layoutopt.candidates.one_op import MOST_OPS, ahead_of_reshapes, follows, split, with_arguments
from layoutopt.candidates.one_pass import READ, Point, unlike_points, whole_dims
from layoutopt.candidates.reductions_apart import ReductionsApart, reductions_apart
from layoutopt.compiler.gpu import GpuUnits
from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    DispatchRegion,
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, scalar_constant
from layoutopt.ir.schedule import RowTile, Schedule, Workgroup
from layoutopt.ir.size import Size
from layoutopt.ir.types import element_bytes

_LEAST_SHARE = 2
"""A row of less than one in so many of a subgroup's lanes is as fast in one of them."""
_LOAD_BYTES = 16
"""What a lane loads at once at most."""
_MOST_SUBGROUPS = 16
_SHARES = (1, 4)
"""Loads of each lane in a row, at which more subgroups are tried."""


def row_tiles(graph: Graph, units: GpuUnits) -> tuple[RowTile, ...]:
    """The ways to try of sharing a row; none where the graph does not reduce rows.

    A subgroup alone adds up without shared memory; several have less to do each, and hide their
    loads where rows are few. A lane loads one element at once, or as many as divide the row.
    """
    rows = _in_rows(graph, {}, units.subgroup)
    if isinstance(rows, Refusal):
        return ()
    found: dict[RowTile, None] = {}
    for width in rows.widths:
        loads = rows.columns // (units.subgroup * width)
        several = (1 << (max(1, loads // n).bit_length() - 1) for n in _SHARES)
        most = min(_MOST_SUBGROUPS, units.most_threads // units.subgroup)
        found |= {RowTile(units.subgroup, min(n, most), width): None for n in (1, *several)}
    return tuple(sorted(found))


def with_rows(graph: Graph, tile: RowTile, splats: Mapping[int, str]) -> Graph | Refusal:
    """The graph as one dispatch in which a workgroup has a row.

    ``splats``: inputs that are one number everywhere. It is written where it is used: the compiler
    would do the same, and drop the schedule.
    """
    rows = _in_rows(graph, splats, tile.lanes)
    return rows if isinstance(rows, Refusal) else rows.written(tile)


@dataclass(frozen=True)
class _Part:
    """One op of the dispatch: what it computes for a point of its loops."""

    tensors: tuple[int, ...]
    """What it makes, in the graph."""
    whole: bool
    """Whether it runs over elements of rows, and not over rows alone."""
    reads: tuple[tuple[int, tuple[int, ...]], ...]
    """Tensors with the loops that they are read along."""
    body: Body
    """With an argument for each of these, and one for each result."""
    start: str | None = None
    """What a reduction starts from; None where it is none."""


@dataclass(frozen=True)
class _Rows:
    """A dispatch over rows, in parts."""

    graph: Graph
    domain: tuple[int, ...]
    """Sizes of the loops, merged where they are adjacent in all that is read: rows, elements."""
    place: Mapping[int, int]
    """By loop as it was before, which of these it begins."""
    parts: tuple[_Part, ...]

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return self.domain[-1]

    @property
    def widths(self) -> tuple[int, ...]:
        """Elements that a lane may load at once."""
        types, last = self.graph.types, len(self.domain) - 1
        whole = [p for p in self.parts if p.whole]
        read = {t for p in whole for t, loops in p.reads if last in self._places(loops)}
        made = {t for p in whole if p.start is None for t in p.tensors}
        most = _LOAD_BYTES // max(element_bytes(types[t].element) for t in (*read, *made))
        wide = [n for n in (2, 4, 8, 16) if n <= most and self.columns % n == 0]
        return (1, *wide[-1:])

    def written(self, tile: RowTile) -> Graph:
        """The dispatch, where lanes share rows so."""
        graph, builder = self.graph, GraphBuilder(len(self.graph.types))
        ops: list[Structured] = []
        made: dict[int, int] = {}
        read = cache(partial(self._read, builder))
        for part in self.parts:
            sources = tuple(made[t] if t in made else read(t, loops) for t, loops in part.reads)
            rows = self.domain[:-1]
            kept = self.domain if part.whole and part.start is None else rows
            made |= {t: builder.tensor(kept, graph.types[t].element) for t in part.tensors}
            init = Uninitialized() if part.start is None else Fill(part.start)
            summed = () if part.start is None else (IteratorType.REDUCTION,)
            ops.append(
                Structured(
                    sources,
                    (init,) * len(part.tensors),
                    tuple(made[t] for t in part.tensors),
                    self.domain if part.whole else rows,
                    (*(IteratorType.PARALLEL for _ in kept), *summed),
                    (
                        *(plain_map(self._places(loops)) for _, loops in part.reads),
                        *(identity_map(len(kept)) for _ in part.tensors),
                    ),
                    part.body,
                    generalized=True,
                    schedule=_schedule(part, len(rows), tile, leads=not ops),
                )
            )
        bases = {t: ahead_of_reshapes(graph, t) for t in graph.outputs}
        inside = tuple(dict.fromkeys(made[base] for base in bases.values()))
        types = [*graph.types, *builder.types]
        outside = {t: len(types) + i for i, t in enumerate(inside)}
        types += [types[t] for t in inside]
        region = DispatchRegion(tuple(ops), inside, tuple(outside.values()))
        after = (Reshape(outside[made[base]], t) for t, base in bases.items())
        whole = (*builder.ops, region, *after)
        return Graph(tuple(types), whole, graph.inputs, graph.outputs)

    def _places(self, loops: Collection[int]) -> tuple[int, ...]:
        """The merged loops of some loops."""
        return tuple(self.place[d] for d in loops if d in self.place)

    def _read(self, builder: GraphBuilder, tensor: int, loops: tuple[int, ...]) -> int:
        shape = tuple(self.domain[place] for place in self._places(loops))
        return reshaped(tensor, shape, self.graph, builder)


def _schedule(part: _Part, rows: int, tile: RowTile, *, leads: bool) -> Schedule:
    """Rows go to workgroups, their elements to lanes; what has none is computed by every lane."""
    group = Workgroup(tile.threads, tile.lanes, along=tile.lanes, leads=leads)
    none = (0,) * rows
    if not part.whole:
        return Schedule(none, (1,) * rows, none, workgroup=replace(group, along=1))
    each = (1,) * rows if part.start is not None else none
    return Schedule((*each, 0), (*none, tile.width), (*none, tile.step), workgroup=group)


def _in_rows(graph: Graph, splats: Mapping[int, str], lanes: int) -> _Rows | Refusal:
    """The parts of a graph that reduces rows, or why it is no such graph."""
    if any(isinstance(n, Size) for kind in graph.types for n in kind.shape):
        return Refusal("expected ops on tensors of known sizes, but got others")
    found = reductions_apart(graph)
    if isinstance(found, Refusal):
        return found
    refusal = unlike_points(found.graph)
    if refusal is not None:
        return refusal
    reductions = found.reductions.values()
    shapes = {whole_dims(found.graph.types[r.tensor].shape) for r in reductions}
    counts = {r.dims for r in reductions}
    if len(shapes) != 1 or len(counts) != 1:
        return Refusal("expected reductions of the same rows, but got several kinds")
    (shape,), (reduced,) = shapes, counts
    rows = len(shape) - reduced
    if rows < 1 or math.prod(shape[rows:]) * _LEAST_SHARE < lanes:
        return Refusal(f"expected several rows of at least {lanes // _LEAST_SHARE} elements")
    parts: list[_Part] = []
    for tensor in found.order:
        part = _part(found, tensor, shape, rows, splats)
        if isinstance(part, Refusal):
            return part
        parts.append(part)
    parts = [*_joined(parts)]
    groups = _merged(parts, len(shape), rows)
    if sum(g[0] >= rows for g in groups) != 1:
        return Refusal("expected rows that are one loop, but got several")
    last = len(shape) - 1
    read = [loops for part in parts for _, loops in part.reads if last in loops]
    if not read or any(loops[-1] != last for loops in read):
        return Refusal("expected rows along the last dim of what is read")
    domain = tuple(math.prod(shape[d] for d in g) for g in groups)
    return _Rows(graph, domain, {g[0]: i for i, g in enumerate(groups)}, tuple(parts))


def _joined(parts: Sequence[_Part]) -> Iterator[_Part]:
    """The parts, those that make results over elements as one with several: they share a row."""
    results = [part for part in parts if part.whole and part.start is None]
    yield from (part for part in parts if part not in results)
    if not results:
        return
    reads = tuple(dict.fromkeys(read for part in results for read in part.reads))
    kinds = {
        read: kind
        for part in results
        for read, kind in zip(part.reads, part.body.arguments, strict=False)
    }
    arguments = (*(kinds[read] for read in reads), *(p.body.arguments[-1] for p in results))
    ops: list[ScalarOp] = []
    yields: list[int] = []
    for place, part in enumerate(results):
        number = {i: reads.index(read) for i, read in enumerate(part.reads)}
        number[len(part.reads)] = len(reads) + place
        for value, op in enumerate(part.body.ops, len(part.body.arguments)):
            number[value] = len(arguments) + len(ops)
            ops.append(replace(op, operands=tuple(number[o] for o in op.operands)))
        yields += [number[value] for value in part.body.yields]
    body = Body(arguments, tuple(ops), tuple(yields))
    yield _Part(tuple(t for part in results for t in part.tensors), True, reads, body)


def _part(
    mapped: ReductionsApart,
    tensor: int,
    shape: tuple[int, ...],
    rows: int,
    splats: Mapping[int, str],
) -> _Part | Refusal:
    """The op that makes a tensor from what the dispatch reads, and from reductions before it."""
    graph = mapped.graph
    reduction = mapped.reductions.get(tensor)
    reduced = tensor if reduction is None else reduction.tensor
    own = whole_dims(graph.types[reduced].shape)
    if own not in (shape, shape[:rows]) or not graph.producers[reduced]:
        return Refusal("expected results along the rows that are reduced, but got others")
    parted = tuple((n,) for n in own)
    body = Point(graph, reduced, parted).body()
    if len(body.ops) > MOST_OPS or split(body, parted) is not None:
        return Refusal(f"expected at most {MOST_OPS} ops for a point, read along loops")
    body = replace(body, ops=tuple(_known(op, splats) for op in body.ops))
    reads: dict[tuple[int, tuple[int, ...]], None] = {}
    read_by: dict[int, tuple[int, tuple[int, ...]]] = {}
    for value, op in enumerate(body.ops):
        if op.name != READ:
            continue
        places = [body.ops[place] for place in op.operands]
        if any(place.name != "linalg.index" for place in places):
            return Refusal("expected operands that are read along loops, but one is read elsewhere")
        loops = tuple(int(place.attribute("dim")) for place in places)
        source = int(op.attribute("source"))
        of_rows = source in mapped.reductions and loops != tuple(range(rows))
        if len({*loops}) < len(loops) or of_rows:
            return Refusal("expected each row to read what is reduced of it")
        if math.prod(own[d] for d in loops) != graph.types[source].elements:
            return Refusal("expected operands that are read as a whole, but got a part of one")
        read_by[value] = source, loops
        reads[source, loops] = None
    element = graph.types[tensor].element
    elements = (*(graph.types[t].element for t, _ in reads), element)
    arguments = {value: [*reads].index(read) for value, read in read_by.items()}
    whole = with_arguments(body, elements, arguments)
    if reduction is None:
        return _Part((tensor,), own == shape, tuple(reads), whole)
    combined = _combined(whole, reduction.combining)
    return _Part((tensor,), own == shape, tuple(reads), combined, reduction.start)


def _known(op: ScalarOp, splats: Mapping[int, str]) -> ScalarOp:
    """An op of a point, with a number in place of what is read where all of it is that number."""
    source = int(op.attribute("source")) if op.name == READ else -1
    if source not in splats:
        return op
    return scalar_constant(splats[source], op.type)


def _combined(body: Body, combining: ScalarOp) -> Body:
    """What is reduced, taken together with what was before."""
    last = len(body.arguments) + len(body.ops)
    op = replace(combining, operands=(body.yields[0], len(body.arguments) - 1))
    return Body(body.arguments, (*body.ops, op), (last,))


def _merged(parts: Sequence[_Part], loops: int, rows: int) -> list[tuple[int, ...]]:
    """The loops in groups that are adjacent in all that is read; rows apart from their elements."""
    maps = [plain_map(read) for part in parts for _, read in part.reads]
    fixed = any(part.body.reads_index for part in parts)
    groups: list[tuple[int, ...]] = []
    for d in range(loops):
        if d not in (0, rows) and not fixed and all(follows(m, d) for m in maps):
            groups[-1] += (d,)
        else:
            groups.append((d,))
    return groups
