"""A pad in one pass over the result.

    pad(x, low, high, v)
      ->
    y[i] = v unless 0 <= i - low < size, else x[i - low]

A GPU has no dispatch for a pad: it becomes a memset and a strided copy (slow_memcpy); this is one.
Sound because a pad is a scatter with stride one.
"""

from __future__ import annotations

from layoutopt.ir.graph import Graph, GraphBuilder, Pad, Scatter
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.interior_padding import typed
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


def _example(low: int, high: int) -> Graph:
    builder = GraphBuilder()
    x, y = builder.tensor((2, 3), "f32"), builder.tensor((2 + low + high, 3), "f32")
    builder.add(Pad(x, y, (low, 0), (high, 0), "4.0 : f32"))
    return builder.build((x,), (y,))


class PadToIndexArithmetic:
    """Pad as compute."""

    name = "pad-to-index-arithmetic"
    summary = "pad by fill and copy -> one generic with index arithmetic"
    argument = "place i holds element i - low where there is one, else the padding value"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(_example(low=1, high=2), 0),
        Example(
            _example(low=0, high=0),
            0,
            refusal="expected padding that adds elements, but got low (0, 0) high (0, 0)",
        ),
    )

    def match(self, graph: Graph, op: int) -> Pad | None:
        """Any pad."""
        found = graph.ops[op]
        return found if isinstance(found, Pad) else None

    def guard(self, match: Pad) -> Refusal | None:
        """A pad by nothing is the identity already."""
        if any((*match.low, *match.high)):
            return None
        return Refusal(
            f"expected padding that adds elements, but got low {match.low} high {match.high}"
        )

    def rewrite(self, graph: Graph, match: Pad) -> Expression:
        """The pad as a computed scatter."""
        rank = len(match.low)
        value = typed(match.value, graph.types[match.result].element)
        scatter = Scatter((match.source,), match.result, (match.low,), (1,) * rank, value, True)
        return Expression((), (scatter,))
