"""Which of the rules a run applies."""

from __future__ import annotations

from typing import Any

from layoutopt.options import Options
from layoutopt.rules.rewrites import MERGING, WIDENING
from layoutopt.rules.rule import RewriteRule


def rules_in_use(options: Options) -> tuple[RewriteRule[Any], ...]:
    """Those of the options, but for what makes other weights where there is a weight budget.

    The budget bounds copies of weights in other layouts, not in other types, nor what is made of
    several.
    """
    if options.weight_budget is None:
        return options.rules
    return tuple(rule for rule in options.rules if rule not in (*MERGING, *WIDENING))
