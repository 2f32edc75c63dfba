"""A convolution in tiles of 2 outputs along each window.

    conv(x, w)   ->   A^T [sum over channels of (B^T x) * (G w)], tile by tile

Sound because F(2, r) is an identity between polynomials (``toom_cook``); only rounding differs.
Assumes no Inf or NaN: one of them spreads over its tile.
"""

from __future__ import annotations

from layoutopt.rules.rewrites.winograd import Winograd


class ConvolutionToWinogradF2(Winograd):
    """Convolution -> transformed tiles and one contraction for each of their elements."""

    name = "convolution-to-winograd-f2"
    summary = "convolution -> Winograd's F(2, r): transforms and fewer multiplications"
    tile = 2
