"""Where prices come from."""

from __future__ import annotations

from enum import StrEnum


class PriceSource(StrEnum):
    """Where the prices of one plan come from."""

    MEASURED = "measured"
    ANALYTIC = "analytic"  # estimates
    PLAN = "plan"  # recorded in the plan that was given
