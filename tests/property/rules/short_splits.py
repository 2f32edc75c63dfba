"""The table of rewrites, where sums, loops and images need not be long to be split."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rewrites.contraction_to_strassen import ContractionToStrassen
from layoutopt.rules.rewrites.convolution_to_winograd_f6 import ConvolutionToWinogradF6
from layoutopt.rules.rewrites.split_reduction import SplitReduction
from layoutopt.rules.rule import RewriteRule


class SplitShort(SplitReduction):
    """Splits sums that are not long."""

    least = 2


class HalveShort(ContractionToStrassen):
    """Halves loops that are not long."""

    least = 1
    shortest = 2


class CoverSmall(ConvolutionToWinogradF6):
    """Tiles that reach far behind an image."""

    share = Fraction(100)


def _for_small_sizes(rule: RewriteRule[Any]) -> RewriteRule[Any]:
    if isinstance(rule, ContractionToStrassen):
        return HalveShort()
    return CoverSmall() if isinstance(rule, ConvolutionToWinogradF6) else rule


HALVING: tuple[RewriteRule[Any], ...] = tuple(map(_for_small_sizes, REWRITES))
"""With short loops halved, and small images in large tiles."""
RULES: tuple[RewriteRule[Any], ...] = tuple(
    SplitShort() if isinstance(rule, SplitReduction) else rule for rule in HALVING
)
"""With short sums split, too."""
