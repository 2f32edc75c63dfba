"""Contract first, scatter the smaller result.

    contraction(scatter(x, offsets, strides), w)
      ->
    scatter(contraction(x, w), offsets', strides')

Sound where each strided dim is one parallel loop of the contraction (a filter loop of size one may
stand beside it): a row that the scatter leaves zero gives a result row equal to the init, since
0 * w = 0 for finite w. Assumes no Inf or NaN in w. Dims that w reads along too are cut out of it.
"""

from __future__ import annotations

from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.interior_padding_examples import interior_padded_example
from layoutopt.rules.rewrites.polyphase import (
    InteriorPaddedContraction,
    Reading,
    by_phases,
    interior_padded_contraction,
    refusal_of,
)
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


class CommuteScatterWithContraction:
    """Strided parallel dims: 1x1 backward-data convolutions."""

    name = "commute-scatter-with-contraction"
    summary = "contraction of a scattered tensor -> scatter of the small contraction"
    argument = "rows of zeros give rows equal to the init: 0 * w = 0 for finite w"
    evidence = Evidence.PROVED
    exactness = Exactness.ASSUMES_FINITE
    canonicalizes = False
    examples = (
        Example(interior_padded_example(filter_size=1, stride=2), 1),
        Example(interior_padded_example(filter_size=1, stride=3, offset=1), 1),
        Example(
            interior_padded_example(filter_size=1, stride=2, background="1.0 : f32"),
            1,
            refusal="expected a zero background, but got 1.0 : f32",
        ),
    )

    def match(self, graph: Graph, op: int) -> InteriorPaddedContraction | None:
        """A contraction that reads strided dims by parallel loops alone."""
        found = interior_padded_contraction(graph, op)
        return found if found is not None and found.reading is Reading.PARALLEL else None

    def guard(self, match: InteriorPaddedContraction) -> Refusal | None:
        """The background must be zero and the maps those of a contraction."""
        return refusal_of(match)

    def rewrite(self, graph: Graph, match: InteriorPaddedContraction) -> Expression:
        """Contract the unpadded tensor, then scatter."""
        return by_phases(graph, match)
