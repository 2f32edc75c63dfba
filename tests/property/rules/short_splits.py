"""The table of rewrites, where sums need not be long to be split."""

from __future__ import annotations

from typing import Any

from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rewrites.split_reduction import SplitReduction
from layoutopt.rules.rule import RewriteRule


class SplitShort(SplitReduction):
    """Splits sums that are not long."""

    least = 2


RULES: tuple[RewriteRule[Any], ...] = tuple(
    SplitShort() if isinstance(rule, SplitReduction) else rule for rule in REWRITES
)
