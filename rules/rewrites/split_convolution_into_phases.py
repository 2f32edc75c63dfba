"""A convolution over an interior-padded tensor is one small convolution per output phase.

    conv(scatter(x, strides s), w)   ->   interleave(conv(x, w[p::s]) for each phase p)

Sound because output i = p (mod s) meets elements of x only at the taps k of one progression; the
other taps multiply zeros. Assumes no Inf or NaN in w.
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


class SplitConvolutionIntoPhases:
    """Backward-data convolutions with K x K filters."""

    name = "split-convolution-into-phases"
    summary = "convolution of an interior-padded tensor -> interleaved convolutions, one per phase"
    argument = "c*i + e*k = o (mod s) fixes k modulo s / gcd(e, s) for each i modulo s / gcd(c, s)"
    evidence = Evidence.PROVED
    exactness = Exactness.ASSUMES_FINITE
    canonicalizes = False
    examples = (
        Example(interior_padded_example(filter_size=3, stride=2, offset=1), 1),
        Example(interior_padded_example(filter_size=3, stride=3, offset=2), 1),
        Example(
            interior_padded_example(filter_size=3, stride=2, background="2.0 : f32"),
            1,
            refusal="expected a zero background, but got 2.0 : f32",
        ),
    )

    def match(self, graph: Graph, op: int) -> InteriorPaddedContraction | None:
        """A convolution whose windows slide along strided dims."""
        found = interior_padded_contraction(graph, op)
        return found if found is not None and found.reading is Reading.WINDOW else None

    def guard(self, match: InteriorPaddedContraction) -> Refusal | None:
        """The background must be zero and the windows regular."""
        return refusal_of(match)

    def rewrite(self, graph: Graph, match: InteriorPaddedContraction) -> Expression:
        """One convolution per phase, then interleave."""
        return by_phases(graph, match)
