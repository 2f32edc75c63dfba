"""Graphs that hand tensors to each other, planned as one; mostly there is one graph alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.conversion import Conversion
from layoutopt.ir.carried import Carried
from layoutopt.ir.layout import Layout
from layoutopt.options import Objective, Options
from layoutopt.planning.carried_layouts import end_conversions, possible_layouts
from layoutopt.planning.joint_selection import JointChoice, JointSelection, Part, joined
from layoutopt.planning.objective import Movable, conversion_objective
from layoutopt.planning.plan_space import PlanSpace, with_conversions
from layoutopt.solver import CHEAPEST, Enough, Search, Solution, TimeLimit

Costs = tuple[Mapping[Candidate, int], Mapping[Conversion, int]]
"""Of candidates and of conversions."""


@dataclass(frozen=True)
class JointSpace:
    """All that the plans of several graphs could be made of."""

    parts: tuple[PlanSpace, ...]
    runs: tuple[int, ...]
    """How much each graph counts: how often it runs in one call."""
    layouts: Mapping[Carried, tuple[Layout, ...]] = field(default_factory=dict)
    """What each carried tensor may take, row-major first."""

    @classmethod
    def alone(cls, space: PlanSpace) -> JointSpace:
        """One graph."""
        return cls((space,), (1,))

    @property
    def as_it_came(self) -> JointChoice:
        """The plans that change nothing."""
        plain = {c: layouts[0] for c, layouts in self.layouts.items()}
        return JointChoice(tuple(p.as_it_came for p in self.parts), plain)

    def within(self, memory_bytes: int) -> JointSpace:
        """The same with a bound on what tensors take while a plan runs."""
        return replace(
            self, parts=tuple(replace(part, memory_bytes=memory_bytes) for part in self.parts)
        )

    def selection(self, costs: Sequence[Costs]) -> JointSelection:
        """The integer problem at these costs; what has none is left out."""
        parts = [
            Part(space.graph, space.selection(*own), runs, space.budgeted_weights)
            for space, own, runs in zip(self.parts, costs, self.runs, strict=True)
        ]
        return joined(parts, self.layouts)

    def solved(
        self,
        costs: Sequence[Costs],
        search: Search,
        limit: TimeLimit,
        known: Iterable[JointChoice] = (),
        enough: Enough = CHEAPEST,
    ) -> tuple[JointSelection, Solution]:
        """The cheapest plans at these costs; what has none is left out.

        ``known``: plans that serve where the time is over, beside the model as it came;
        ``enough``: when the search may end before.
        """
        selection = self.selection(costs)
        answers = (selection.indices(choice) for choice in (self.as_it_came, *known))
        found = (a for a in answers if a is not None)
        return selection, limit.solve(selection.problem, search, found, enough)

    def objective(self, costs: Sequence[Costs], options: Options) -> Sequence[Costs]:
        """What is minimized: times, or conversions counted where these are to be few."""
        match options.objective:
            case Objective.LATENCY:
                return costs
            case Objective.CONVERSIONS:
                forms = [
                    Movable(
                        {c: work.form for c, work in space.candidates.items()},
                        own,
                        {c: pieces[0].form for c, pieces in space.conversions.items()},
                        runs,
                    )
                    for space, (own, _), runs in zip(self.parts, costs, self.runs, strict=True)
                ]
                found = conversion_objective(forms)
                return [
                    (ranked, {**conversion_costs, **paid})
                    for (_, conversion_costs), (ranked, paid) in zip(costs, found, strict=True)
                ]
            case _:
                assert_never(options.objective)


def joint_space(
    spaces: Sequence[PlanSpace], runs: Sequence[int], carried: Sequence[Carried], options: Options
) -> JointSpace:
    """The spaces with the conversions that carried tensors may need."""
    if not carried:
        return JointSpace(tuple(spaces), tuple(runs))
    layouts = possible_layouts(spaces, carried)
    parts = tuple(
        with_conversions(space, end_conversions(spaces, place, layouts), options)
        for place, space in enumerate(spaces)
    )
    return JointSpace(parts, tuple(runs), layouts)
