"""A scatter in one pass over the result.

    scatter(x, offsets, strides, v)
      ->
    y[i] = v unless (i - offset) % stride == 0 and (i - offset) / stride < size, else x[..]

One dispatch in place of a memset and a strided copy; shift and mask for powers of two, clamped
reads and a select elsewhere. Sound because each place of the result is inverted to the one element
that the scatter puts there.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.graph import Graph, GraphBuilder, Scatter
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression, over_budget

_SOURCES = 16
"""Sources at most: every place of the result looks at each of them, which is code."""


def _example(sources: int) -> Graph:
    builder = GraphBuilder()
    xs = [builder.tensor((2, 3), "f32") for _ in range(sources)]
    y = builder.tensor((2 * sources + 1, 3), "f32")
    offsets = tuple((i, 0) for i in range(sources))
    builder.add(Scatter(tuple(xs), y, offsets, (sources, 1), "4.0 : f32"))
    return builder.build(xs, (y,))


class ScatterToIndexArithmetic:
    """Scatter as compute."""

    name = "scatter-to-index-arithmetic"
    summary = "scatter by fill and strided inserts -> one generic with index arithmetic"
    argument = "i -> (i - offset) / stride inverts offset + stride * j where the remainder is zero"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(_example(sources=3), 0),
        Example(
            _example(sources=17),
            0,
            refusal="expected at most 16 sources, the budget of reads for each place, but got 17",
        ),
    )

    def match(self, graph: Graph, op: int) -> Scatter | None:
        """Any scatter by copies."""
        found = graph.ops[op]
        return found if isinstance(found, Scatter) and not found.computed else None

    def guard(self, match: Scatter) -> Refusal | None:
        """Every place of the result looks at every source."""
        return over_budget(len(match.sources), _SOURCES, "sources", "reads for each place")

    def rewrite(self, graph: Graph, match: Scatter) -> Expression:
        """The same scatter, written the other way."""
        return Expression((), (replace(match, computed=True),))
