"""Reductions of neighbours in memory, in the lanes of vectors.

    y = sum_c f(x[c])   ->   p[l] = sum_j f(x[j, l]),   y = sum_l p[l]      c = (j, l)

A reduction along the innermost dim combines what lies side by side in one vector, step by step, and
waits for each step before the next. With a partial result in each lane a step combines whole
vectors, and several of them do not wait for each other; lanes are combined once, at the end. The
sums of softmax and of layer, RMS and group norms are such reductions where rows lie in memory one
after the other. IREE 3.13 does not do so by itself: a group norm of 8 x 4096 elements takes 59 us
as it came, and 12 us in lanes (f32, AVX-512). All that surrounds the reductions stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutopt.ir.graph import Graph, Op, Structured, Uninitialized
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import COMMUTATIVE
from layoutopt.rules.rewrites.parts import Parts, in_parts, is_plain, refused_parts, rewritten

_LANES = (32, 16)
"""Lanes of two vectors of the widest registers (f32), so that two sums do not wait for each other;
of one where no more divide a row."""
_STEPS = 4
"""Of each lane at least: fewer are no less work than what combines the lanes."""


def in_lanes(
    graph: Graph, lanes: Sequence[int] = _LANES, steps: int = _STEPS
) -> Graph | Refusal:  # fmt: skip
    """The graph with each reduction in lanes that may be, or why none is.

    ``lanes``: how many neighbours have a partial result of their own, the first that divide a row.
    ``steps``: terms of each partial result at least.
    """
    found, ops = graph, list[Op]()
    for op in graph.ops:
        parts = _in_lanes(found, op, lanes, steps)
        if parts is None or refused_parts(parts) is not None:
            ops.append(op)
            continue
        expression = rewritten(found, parts)
        ops += expression.ops
        found = replace(found, types=(*found.types, *expression.types))
    if found is graph:
        return Refusal(
            f"expected rows that {' or '.join(map(str, lanes))} lanes reduce, but got none"
        )
    return replace(found, ops=tuple(ops))


def _in_lanes(graph: Graph, op: Op, lanes: Sequence[int], steps: int) -> Parts | None:
    """A reduction with one result along the innermost dim of all that it reads along it."""
    if not isinstance(op, Structured) or op.is_contraction or op.body.reads_index:
        return None
    if len(op.results) != 1 or isinstance(op.inits[0], Uninitialized):
        return None
    combining = op.body.op_of(op.body.yields[0])
    if combining is None or combining.name not in COMMUTATIVE:
        return None
    for loop in sorted(op.reduction_dims):
        size = op.domain[loop]
        if type(size) is not int or not _is_innermost(graph, op, loop):
            continue
        for count in lanes:
            if size % count == 0 and size >= count * steps:
                return in_parts(graph, op, loop, count, innermost=True)
    return None


def _is_innermost(graph: Graph, op: Structured, loop: int) -> bool:
    """Whether all that is read along a loop is read along its innermost dim, one by one."""
    along = [m for m in op.source_maps if any(loop in form.dims for form in m)]
    return bool(along) and is_plain(graph, op, loop) and all(m[-1].plain_dim == loop for m in along)
