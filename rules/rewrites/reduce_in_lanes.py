"""Reductions of neighbours in memory, in the lanes of vectors.

    y = sum_c f(x[c])   ->   p[l] = sum_j f(x[j, l]),   y = sum_l p[l]      c = (j, l)

A reduction along the innermost dim combines what lies side by side in one vector, step by step, and
waits for each step before the next. With a partial result in each lane a step combines whole
vectors, and several of them do not wait for each other; lanes are combined once, at the end. Sums
of softmax and of layer, RMS and group norms are such reductions where their rows are neighbours.
IREE 3.13 does not do so by itself: a group norm of 8 x 4096 elements takes 59 us as it is, and 12
us in lanes (f32, AVX-512).
"""

from __future__ import annotations

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import COMMUTATIVE, Body, ScalarOp
from layoutopt.rules.rewrites.parts import Parts, in_parts, is_plain, refused_parts, rewritten
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_LANES = (32, 16)
"""Lanes of two vectors of the widest registers (f32), so that two sums do not wait for each other;
of one where no more divide a row."""
_STEPS = 4
"""Of each lane at least: fewer are no less work than what combines the lanes."""


def _row_sum(rows: int, columns: int, *, shared: bool = False) -> Graph:
    """The sum (tensor 1) of each row of x (tensor 0); ``shared``: all rows are one."""
    builder = GraphBuilder()
    x = builder.tensor((columns,) if shared else (rows, columns), "f32")
    y = builder.tensor((rows,), "f32")
    body = Body(("f32", "f32"), (ScalarOp("arith.addf", (0, 1), "f32"),), (2,))
    builder.add(
        Structured(
            (x,), (Fill("0.0 : f32"),), (y,), (rows, columns),
            (IteratorType.PARALLEL, IteratorType.REDUCTION),
            (plain_map((1,)) if shared else identity_map(2), plain_map((0,))), body,
        )
    )  # fmt: skip
    return builder.build((x,), (y,))


class ReduceInLanes:
    """Partial results of neighbours, each in a lane of a vector."""

    name = "reduce-in-lanes"
    summary = "reduction of neighbours in memory -> partial results side by side + their reduction"
    argument = "what reduces is commutative and associative; partial results start neutral"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.REASSOCIATES
    canonicalizes = False
    lanes = _LANES
    """How many neighbours have a partial result of their own, the most that divide a row."""
    steps = _STEPS
    """Terms of each partial result at least."""
    examples = (
        Example(_row_sum(3, 4 * 32), 0),
        Example(_row_sum(2, 5 * 16), 0),
        Example(
            _row_sum(3, 4 * 32, shared=True),
            0,
            refusal="expected at most 64 elements of partial sums, the budget of half of the "
            "operands, but got 96",
        ),
    )

    def match(self, graph: Graph, op: int) -> Parts | None:
        """A reduction with one result along the innermost dim of all that it reads along it."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or found.is_contraction or found.body.reads_index:
            return None
        if len(found.results) != 1 or isinstance(found.inits[0], Uninitialized):
            return None
        combining = found.body.op_of(found.body.yields[0])
        if combining is None or combining.name not in COMMUTATIVE:
            return None
        for loop in sorted(found.reduction_dims):
            size = found.domain[loop]
            if type(size) is not int or not _is_innermost(found, loop):
                continue
            for lanes in self.lanes:
                if size % lanes == 0 and size >= lanes * self.steps:
                    return in_parts(graph, found, loop, lanes, innermost=True)
        return None

    def guard(self, match: Parts) -> Refusal | None:
        """What may be combined in any order, with fewer partial results than operands."""
        return refused_parts(match)

    def rewrite(self, graph: Graph, match: Parts) -> Expression:
        """Lanes as one more parallel loop, then the reduction of their results."""
        return rewritten(graph, match)


def _is_innermost(op: Structured, loop: int) -> bool:
    """Whether all that is read along a loop is read along its innermost dim, one by one."""
    along = [m for m in op.source_maps if any(loop in form.dims for form in m)]
    return bool(along) and is_plain(op, loop) and all(m[-1].plain_dim == loop for m in along)
