"""Elements that are chosen among several tensors by a short loop, all of them in one tile.

    y[t, p, c] = (p == 0 ? a : p == 1 ? b : d)[t, c]; z = max(y, 0)

The outputs of Winograd's convolutions are put side by side like that. IREE takes p one by one, and
reads a, b and d for each. Here the tile of registers has all of p, so that the compiler knows what
is chosen, and what is computed of y is part of the op.

    y[h, w, i, c] = x[h, w * 2 + i, c]       i < 3
      ->
    y[h, w, i, c] = (i == 0 ? a : i == 1 ? b : d)[h, w, c]      a = x[h, 0::2, c], b = x[h, 1::2, c]

Copies of windows are such a choice among parts of one tensor; IREE computes them number by number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from layoutopt.candidates.one_op import in_one_op
from layoutopt.ir.affine import Affine, identity_map, plain_dims, plain_map
from layoutopt.ir.graph import Graph, GraphBuilder, Op, Reshape, Slice, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.ir.size import Size
from layoutopt.rules.rewrites.separable import selection_body

_LONGEST = 8
"""Points of a loop that is in a tile as a whole."""
_WIDEST = 16
"""Elements of a tile along the innermost loop at most: with all points of the others they are many
vectors."""
_MOST_POINTS = 64
"""Of the loops that are whole, beyond which code is long and slow to compile."""


def with_parts_in_one_tile(graph: Graph, tile: VectorTile) -> Graph:
    """The graph with a schedule for the op that chooses, where its end is one; else as it is.

    ``tile``: that of its contractions, whose vectors and threads are those of this op too.
    """
    first = next((i for i, op in enumerate(graph.ops) if _chooses(op)), None)
    if first is None:
        return graph
    made = {*graph.ops[first].outputs}
    end = [first]
    for place in range(first + 1, len(graph.ops)):
        op = graph.ops[place]
        if not made.isdisjoint(op.inputs):
            end.append(place)
            made.update(op.outputs)
    last = tuple(graph.ops[place] for place in end)
    if not all(isinstance(op, Structured | Reshape) for op in last):
        return graph
    read = dict.fromkeys(t for op in last for t in op.inputs if t not in made)
    results = tuple(t for t in graph.outputs if t in made)
    found = in_one_op(Graph(graph.types, last, tuple(read), results))
    if isinstance(found, Refusal):
        return graph
    scheduled = tuple(_scheduled(op, tile, _WIDEST) for op in found.ops)
    if None in scheduled:
        return graph
    before = tuple(op for place, op in enumerate(graph.ops) if place not in end)
    ops = (*before, *(op for op in scheduled if op is not None))
    return replace(graph, types=found.types, ops=ops, names=())


def _chooses(op: Op) -> bool:
    """Whether what an op reads of several tensors depends on where it is."""
    return isinstance(op, Structured) and bool(_choosing_loops(op))


def _choosing_loops(op: Structured) -> frozenset[int]:
    """The loops whose place the body looks at, where each may be in a tile as a whole."""
    names = [o for o in op.body.ops if o.name == "linalg.index"]
    loops = frozenset(int(o.attribute("dim")) for o in names)
    last = len(op.domain) - 1
    fits = all(d < last and not isinstance(op.domain[d], Size) for d in loops)
    short = fits and all(op.domain[d] <= _LONGEST for d in loops)
    return loops if short and op.is_elementwise and len(op.sources) > 1 else frozenset()


def _scheduled(op: Op, tile: VectorTile, widest: int) -> Op | None:
    """The op with a schedule where it is the one that chooses; None where it can't have one."""
    if isinstance(op, Reshape):
        return op
    assert isinstance(op, Structured)
    whole = _choosing_loops(op)
    lanes = math.gcd(op.domain[-1], min(tile.columns, widest))
    if not whole or lanes == 1 or math.prod(op.domain[d] for d in whole) > _MOST_POINTS:
        return None
    vector = [size if d in whole else 1 for d, size in enumerate(op.domain[:-1])]
    outermost = op.domain[0]
    parts = [n for n in range(vector[0], outermost + 1, vector[0]) if outermost % n == 0]
    schedule = Schedule(
        (tile.balanced(parts, outermost, 1), *op.domain[1:]),
        (*vector, lanes),
        (0,) * len(op.domain),
    )
    return replace(op, schedule=schedule, generalized=True)


def window_tile(graph: Graph, lanes: int) -> VectorTile | None:
    """The tile for a dispatch that copies windows, of so many elements side by side at most."""
    found = with_windows_in_one_tile(graph, VectorTile(1, lanes))
    schedules = [op.schedule for op in found.ops if isinstance(op, Structured)] if found else []
    return next((VectorTile(1, s.vector[-1]) for s in schedules if s is not None), None)


def with_windows_in_one_tile(graph: Graph, tile: VectorTile) -> Graph | None:
    """The graph with its copy of windows as a choice, with a schedule; None where it has none."""
    copies = [op for op in graph.ops if not isinstance(op, Reshape)]
    if len(copies) != 1 or not isinstance(copies[0], Structured):
        return None
    builder = GraphBuilder(len(graph.types))
    choice = _choice(copies[0], builder)
    scheduled = choice and _scheduled(choice, tile, tile.columns)
    if scheduled is None:
        return None
    place = graph.ops.index(copies[0])
    ops = (*graph.ops[:place], *builder.ops, scheduled, *graph.ops[place + 1 :])
    return replace(graph, types=(*graph.types, *builder.types), ops=ops, names=())


def _choice(op: Structured, builder: GraphBuilder) -> Structured | None:
    """A copy of windows as a choice among slices, its loops in the order of the result."""
    order = plain_dims(op.result_maps[0])
    if not op.is_copy or op.schedule is not None or order is None:
        return None
    if len(order) != len(op.domain) or any(isinstance(n, Size) for n in op.domain):
        return None
    (source,), (read,) = op.sources, op.source_maps
    taps = [_tap(form, op.domain) for form in read]
    loops = [d for form in read for d in form.dims]
    whole = [tap for tap in taps if tap is not None]
    if (
        not whole
        or len({*loops}) < len(loops)
        or any(c < 0 for form in read for _, c in form.terms)
        or any(
            len(form.terms) != 1 + (tap is not None) for form, tap in zip(read, taps, strict=True)
        )
        or read[-1].plain_dim != order[-1]
    ):
        return None
    number = {d: place for place, d in enumerate(order)}
    domain = tuple(op.domain[d] for d in order)
    places = [next(d for d in f.dims if d != tap) for f, tap in zip(read, taps, strict=True)]
    shape = tuple(op.domain[d] for d in places)
    strides = tuple(f.coefficient(d) for f, d in zip(read, places, strict=True))
    indices = list(itertools.product(*(range(op.domain[tap]) for tap in whole)))
    parts = []
    for index in indices:
        at = dict(zip(whole, index, strict=True))
        offsets = tuple(
            form.offset + (0 if tap is None else form.coefficient(tap) * at[tap])
            for form, tap in zip(read, taps, strict=True)
        )
        parts.append(builder.tensor(shape, op.body.arguments[0]))
        builder.add(Slice(source, parts[-1], offsets, strides))
    axes = {axis: number[tap] for axis, tap in enumerate(whole)}
    return replace(
        op,
        sources=tuple(parts),
        domain=domain,
        iterators=tuple(op.iterators[d] for d in order),
        maps=(*(plain_map([number[d] for d in places]),) * len(parts), identity_map(len(domain))),
        body=selection_body(indices, axes, op.body.arguments[0]),
    )


def _tap(form: Affine, domain: Sequence[int]) -> int | None:
    """The loop along a window; None where there is none."""
    return min(form.dims, key=lambda d: domain[d]) if len(form.terms) > 1 else None
