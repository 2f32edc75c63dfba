"""Sum over the elements of a scattered tensor alone: no scatter at all.

    sum_k scatter(x, stride s)[k] * w[k]   ->   sum_j x[j] * w[o + s * j]

Sound because all other products are zero. Assumes no Inf or NaN in w.
"""

from __future__ import annotations

from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.interior_padding_examples import interior_padded_gradient_example
from layoutopt.rules.rewrites.polyphase import (
    InteriorPaddedContraction,
    Reading,
    by_phases,
    interior_padded_contraction,
    refusal_of,
)
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


class SplitReductionIntoPhases:
    """Strided reduction dims: weight gradients."""

    name = "split-reduction-into-phases"
    summary = "contraction over scattered dims -> contraction that reads the other with the stride"
    argument = "the sum keeps exactly the products that are not 0 * w"
    evidence = Evidence.PROVED
    exactness = Exactness.ASSUMES_FINITE
    canonicalizes = False
    examples = (
        Example(interior_padded_gradient_example(stride=2), 1),
        Example(interior_padded_gradient_example(stride=2, filter_size=3), 1),
        Example(
            interior_padded_gradient_example(stride=2, background="1.0 : f32"),
            1,
            refusal="expected a zero background, but got 1.0 : f32",
        ),
    )

    def match(self, graph: Graph, op: int) -> InteriorPaddedContraction | None:
        """A contraction that reads strided dims by reduction loops alone."""
        found = interior_padded_contraction(graph, op)
        return found if found is not None and found.reading is Reading.REDUCTION else None

    def guard(self, match: InteriorPaddedContraction) -> Refusal | None:
        """The background must be zero."""
        return refusal_of(match)

    def rewrite(self, graph: Graph, match: InteriorPaddedContraction) -> Expression:
        """Contract with a strided read of the other operand."""
        return by_phases(graph, match)
