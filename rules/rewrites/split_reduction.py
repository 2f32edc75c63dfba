"""Split-k: partial sums side by side, then their sum.

    y = sum_k x[k] * w[k]   ->   p[s] = sum_j x[s, j] * w[s, j],   y = sum_s p[s]      k = (s, j)

A contraction with few results keeps few compute units busy, however long its sums are. In parts it
keeps more of them busy, at the price of partial sums in memory. Sound because addition is
commutative and associative, up to rounding, and partial sums start from zero.
"""

from __future__ import annotations

import math

from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body
from layoutopt.rules.rewrites.parts import Parts, in_parts, is_plain, refused_parts, rewritten
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_PART = 1024
"""Terms of each partial sum at least: the matrix units run through a part without a pause."""


def _matmul(rows: int, summed: int, columns: int) -> Graph:
    """``matmul`` of x (tensor 0) and w (tensor 1) into y (tensor 2)."""
    builder = GraphBuilder()
    x = builder.tensor((rows, summed), "f32")
    w = builder.tensor((summed, columns), "f32")
    y = builder.tensor((rows, columns), "f32")
    parallel, reduction = IteratorType.PARALLEL, IteratorType.REDUCTION
    builder.add(
        Structured(
            (x, w), (Fill("0.0 : f32"),), (y,), (rows, columns, summed),
            (parallel, parallel, reduction),
            (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
            contraction_body("f32", "f32", "f32"),
        )
    )  # fmt: skip
    return builder.build((x, w), (y,))


class SplitReduction:
    """Long sums with few results."""

    name = "split-reduction"
    summary = "contraction with long sums -> partial contractions side by side + their sum"
    argument = "addition is commutative and associative; partial sums start from zero"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.REASSOCIATES
    canonicalizes = False
    least = _PART
    """Terms of each partial sum at least."""
    examples = (
        Example(_matmul(2, 2 * _PART, 3), 0),
        Example(
            _matmul(2 * _PART, 2 * _PART, _PART),
            0,
            refusal=f"expected at most {3 * _PART * _PART} elements of partial sums, the budget of "
            f"half of the operands, but got {4 * _PART * _PART}",
        ),
    )

    def match(self, graph: Graph, op: int) -> Parts | None:
        """A contraction whose sums are at least two parts long."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not found.is_contraction:
            return None
        if found.body.reads_index or isinstance(found.inits[0], Uninitialized):
            return None
        split = _split(graph, found, self.least)
        return in_parts(graph, found, *split, innermost=False) if split is not None else None

    def guard(self, match: Parts) -> Refusal | None:
        """Sums that may be added up in any order, with partial sums smaller than the operands."""
        return refused_parts(match)

    def rewrite(self, graph: Graph, match: Parts) -> Expression:
        """The parts as one more parallel loop, then the sum over them."""
        return rewritten(graph, match)


def _split(graph: Graph, op: Structured, least: int) -> tuple[int, int] | None:
    """The loop to split and the number of parts: parts as short as they may be."""
    known = {d: op.domain[d] for d in op.reduction_dims if type(op.domain[d]) is int}
    terms = math.prod(known.values())
    ways = [
        (terms // parts, loop, parts)
        for loop, size in known.items()
        for parts in _divisors(size)
        if parts > 1 and terms // parts >= least and (parts == size or is_plain(graph, op, loop))
    ]
    if not ways:
        return None
    _, loop, parts = min(ways)
    return loop, parts


def _divisors(size: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(size) + 1) if size % d == 0]
    return sorted({*small, *(size // d for d in small)})
