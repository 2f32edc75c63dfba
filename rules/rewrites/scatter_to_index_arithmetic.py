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

from layoutopt.graph import Graph, GraphBuilder, Scatter
from layoutopt.rules.rule import Example, Expression, Refusal


def _example(computed: bool) -> Graph:
    builder = GraphBuilder()
    x, y = builder.tensor((2, 3), "f32"), builder.tensor((7, 3), "f32")
    builder.add(Scatter((x,), y, ((1, 0),), (3, 1), "4.0 : f32", computed))
    return builder.build((x,), (y,))


class ScatterToIndexArithmetic:
    """Scatter as compute."""

    name = "scatter-to-index-arithmetic"
    summary = "scatter by fill and strided inserts -> one generic with index arithmetic"
    proof = "i -> (i - offset) / stride inverts offset + stride * j where the remainder is zero"
    normal_form = False
    examples = (
        Example(_example(computed=False), 0),
        Example(
            _example(computed=True),
            0,
            refusal="expected a scatter by copies, but it is computed already",
        ),
    )

    def match(self, graph: Graph, op: int) -> Scatter | None:
        """Any scatter."""
        found = graph.ops[op]
        return found if isinstance(found, Scatter) else None

    def guard(self, match: Scatter) -> Refusal | None:
        """Once is enough."""
        if not match.computed:
            return None
        return Refusal("expected a scatter by copies, but it is computed already")

    def rewrite(self, graph: Graph, match: Scatter) -> Expression:
        """The same scatter, written the other way."""
        return Expression((), (replace(match, computed=True),))
