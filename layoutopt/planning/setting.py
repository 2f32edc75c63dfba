"""What the functions of a model are planned with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.options import Options
from layoutopt.planning.explored import Explored
from layoutopt.pricing.prices import Pricer
from layoutopt.profiles.target import Target
from layoutopt.runtime.steps import Clock
from layoutopt.solver import TimeLimit


@dataclass(frozen=True, slots=True)
class PlanSetting:
    """What all functions of a model are planned with."""

    target: Target
    pricer: Pricer
    options: Options
    limit: TimeLimit
    """For solving, all functions together."""
    clock: Clock
    before: Explored | None = None
    """What was enumerated before in this run."""

    @property
    def explored(self) -> Explored:
        """The same with the options of now, or what takes it up."""
        if self.before is None:
            return Explored(self.target, self.options)
        return replace(self.before, options=self.options)
