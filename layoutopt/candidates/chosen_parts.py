"""Elements that are chosen among several tensors by a short loop, all of them in one tile.

    y[t, p, c] = (p == 0 ? a : p == 1 ? b : d)[t, c]; z = max(y, 0)

The outputs of Winograd's convolutions are put side by side like that. IREE takes p one by one, and
reads a, b and d for each. Here the tile of registers has all of p, so that the compiler knows what
is chosen, and what is computed of y is part of the op.
"""

from __future__ import annotations

import math
from dataclasses import replace

from layoutopt.candidates.one_op import in_one_op
from layoutopt.ir.graph import Graph, Op, Reshape, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.ir.size import Size

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
    scheduled = tuple(_scheduled(op, tile) for op in found.ops)
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


def _scheduled(op: Op, tile: VectorTile) -> Op | None:
    """The op with a schedule where it is the one that chooses; None where it can't have one."""
    if isinstance(op, Reshape):
        return op
    assert isinstance(op, Structured)
    whole = _choosing_loops(op)
    lanes = math.gcd(op.domain[-1], min(tile.columns, _WIDEST))
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
