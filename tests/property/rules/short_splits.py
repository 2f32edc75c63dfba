"""The table of rewrites, where sums and loops need not be long to be split."""

from __future__ import annotations

from typing import Any

from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rewrites.contraction_to_strassen import ContractionToStrassen
from layoutopt.rules.rewrites.split_reduction import SplitReduction
from layoutopt.rules.rule import RewriteRule


class SplitShort(SplitReduction):
    """Splits sums that are not long."""

    least = 2


class HalveShort(ContractionToStrassen):
    """Halves loops that are not long."""

    least = 1
    shortest = 2


HALVING: tuple[RewriteRule[Any], ...] = tuple(
    HalveShort() if isinstance(rule, ContractionToStrassen) else rule for rule in REWRITES
)
"""With short loops halved."""
RULES: tuple[RewriteRule[Any], ...] = tuple(
    SplitShort() if isinstance(rule, SplitReduction) else rule for rule in HALVING
)
"""With short sums split, too."""
