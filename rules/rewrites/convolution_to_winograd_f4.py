"""A convolution in tiles of 4 outputs along each window.

    conv(x, w)   ->   A^T [sum over channels of (B^T x) * (G w)], tile by tile

Sound because F(4, r) is an identity between polynomials (``toom_cook``); only rounding differs.
Assumes no Inf or NaN: one of them spreads over its tile.
"""

from __future__ import annotations

from layoutopt.graph import Graph
from layoutopt.rules.rewrites.examples import convolution_example, depthwise_example
from layoutopt.rules.rewrites.short_convolution import Tiling, refusal_of, tiling
from layoutopt.rules.rewrites.winograd import in_tiles
from layoutopt.rules.rule import Example, Expression, Refusal


class ConvolutionToWinogradF4:
    """Convolution -> transformed tiles and one contraction for each of their elements."""

    name = "convolution-to-winograd-f4"
    summary = "convolution -> Winograd's F(4, r): transforms and fewer multiplications"
    proof = "interpolation of a polynomial product at distinct points is exact"
    normal_form = False
    examples = (
        Example(convolution_example(filter_size=3, stride=1), 0),
        Example(convolution_example(filter_size=2, stride=1, image=5, margin=1), 0),
        Example(
            convolution_example(filter_size=3, stride=2),
            0,
            refusal="expected windows one element apart, but got stride 2 and dilation 1",
        ),
        Example(
            depthwise_example(),
            0,
            refusal="expected channels to be summed over, so that products are shared, but "
            "every channel has its own filter",
        ),
    )

    def match(self, graph: Graph, op: int) -> Tiling | None:
        """Any convolution whose filter is small enough."""
        return tiling(graph, op, 4)

    def guard(self, match: Tiling) -> Refusal | None:
        """Dense windows over channels, in wide enough numbers."""
        return refusal_of(match)

    def rewrite(self, graph: Graph, match: Tiling) -> Expression:
        """Transform, contract, transform back."""
        return in_tiles(graph, match)
