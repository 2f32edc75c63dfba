"""A convolution in tiles of 6 outputs along each window.

    conv(x, w)   ->   A^T [sum over channels of (B^T x) * (G w)], tile by tile

Sound because F(6, r) is an identity between polynomials (``toom_cook``); only rounding differs.
Assumes no Inf or NaN: one of them spreads over its tile.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.short_convolution import Tiling
from layoutopt.rules.rewrites.winograd import Winograd
from layoutopt.rules.rule import Example

_SMALLER = 4


class ConvolutionToWinogradF6(Winograd):
    """Convolution -> transformed tiles and one contraction for each of their elements."""

    name = "convolution-to-winograd-f6"
    summary = "convolution -> Winograd's F(6, r): transforms and fewest multiplications"
    tile = 6
    share = Fraction(7, 8)
    """Of the multiplications of smaller tiles, at most: transforms of larger ones take a third more
    for each output, and images of 28 or 56 rows, of which tiles of 6 save a tenth, were never
    faster by them.
    """
    examples = (
        Example(convolution_example(filter_size=3, stride=1, image=6), 0),
        Example(
            convolution_example(filter_size=3, stride=1, image=8),
            0,
            refusal="expected at most 126 multiplications a channel, 7/8 of those of tiles of 4 "
            "outputs, but got 256",
        ),
    )

    def guard(self, match: Tiling) -> Refusal | None:
        """Also an image that larger tiles cover with clearly fewer multiplications."""
        smaller = tuple(_SMALLER if m > 1 else 1 for m in match.outputs)
        most = math.floor(self.share * _multiplications(replace(match, outputs=smaller)))
        refused = super().guard(match)
        if refused is None and (here := _multiplications(match)) > most:
            return Refusal(
                f"expected at most {most} multiplications a channel, {self.share} of those of "
                f"tiles of {_SMALLER} outputs, but got {here}"
            )
        return refused


def _multiplications(match: Tiling) -> int:
    return math.prod(match.tiles) * math.prod(match.products)
