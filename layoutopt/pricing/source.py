"""Where prices come from."""

from __future__ import annotations

from enum import StrEnum


class PriceSource(StrEnum):
    """Where the prices of one plan come from."""

    MEASURED = "measured"
    COMPILED = "compiled"  # estimates from compiled kernels
    ANALYTIC = "analytic"  # estimates by a roofline
    PLAN = "plan"  # recorded in the plan that was given

    @property
    def is_estimate(self) -> bool:
        """Whether prices say how long a run would take, and none was run."""
        return self in (PriceSource.COMPILED, PriceSource.ANALYTIC)
