"""Which of the rules a run applies."""

from __future__ import annotations

from typing import Any

from layoutopt.options import Objective, Options
from layoutopt.profiles.target import Target
from layoutopt.rules.rewrites.widen_factors import WidenFactors
from layoutopt.rules.rule import RewriteRule


def rules_in_use(target: Target, options: Options) -> tuple[RewriteRule[Any], ...]:
    """Those of the options, where they can pay.

    Factors stay narrow on a GPU, whose matrix units multiply them as they are; where conversions
    are counted and not time; and under a weight budget, which bounds copies in other layouts, not
    weights of a longer type.
    """
    vectors = target.registers is not None
    if vectors and options.objective is Objective.LATENCY and options.weight_budget is None:
        return tuple(options.rules)
    return tuple(rule for rule in options.rules if rule.name != WidenFactors.name)
