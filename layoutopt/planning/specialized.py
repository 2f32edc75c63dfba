"""Several plans for one function, each for a range of its sizes, where that pays.

Prices are known at each size that is planned for. The plan for a range is the cheapest one by the
prices at the sizes in it, chosen from the same candidates; `cheapest_bodies` says which ranges. To
it the time at a size counts as a share of what one plan for all sizes takes there: a size that is
named is to be served well, and of a sum of times next to nothing would be those at small sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.candidates.explore import RefusedForm
from layoutopt.errors import SolverError
from layoutopt.ir.types import TensorType
from layoutopt.options import Objective, Options
from layoutopt.planning.bodies import cheapest_bodies
from layoutopt.planning.copy_budget import CopyBudget
from layoutopt.planning.graph_plan import GraphPlan, Specialization
from layoutopt.planning.joint_space import JointSpace
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.planning.setting import PlanSetting
from layoutopt.planning.size_grid import Box, SizeGrid, size_grid
from layoutopt.solver import Solution
from layoutopt.solver.solution import answer

_GAIN = 0.1
"""Of the time at a size of mean weight, what each further body has to save. It is compiled, loaded
and holds copies of weights as the first does, and sums of prices are off by half as much."""

_RUNS = 1000
"""What all bodies count together where they are one integer program."""

Plans = Callable[[JointSpace], tuple[GraphPlan, ...]]
"""The cheapest plans of what a space holds. Raises SolverError where there are none."""


def specialized(
    plan: GraphPlan, space: PlanSpace, setting: PlanSetting, one_body: str, plans_of: Plans
) -> GraphPlan:
    """The plan with others in its place for ranges of its sizes, where these are cheaper.

    ``one_body``: why the function has to stay one; empty where it does not. What is against it is
    among the refusals of the plan.
    """
    options = setting.options
    grid = size_grid(space.graph, options.sizes)
    if options.specializations == 1 or not grid.axes:
        return plan
    reason = one_body or _against(options)
    if not reason:
        try:
            found = _Ranges(plan, space, grid, setting, plans_of).run()
        except SolverError as error:
            found = str(error)
        if not isinstance(found, str):
            return found
        reason = found
    refusal = RefusedForm("all ops", "specialization", reason)
    return replace(plan, refusals=(*plan.refusals, refusal))


def _against(options: Options) -> str:
    """Which option speaks against several bodies."""
    if options.objective is Objective.CONVERSIONS:
        return "with --objective=conversions, what is counted is the same at all sizes"
    if options.free_io_layout:
        return "with --free-io-layout, inputs and outputs lie in one layout at all sizes"
    return ""


@dataclass
class _Ranges:
    plan: GraphPlan
    """For all sizes."""
    space: PlanSpace
    grid: SizeGrid
    setting: PlanSetting
    plans_of: Plans
    plans: dict[Box, GraphPlan] = field(default_factory=dict)

    def run(self) -> GraphPlan | str:
        """The plan with its specializations, or why there are none."""
        grid, whole = self.grid, self.grid.whole
        self.plans[whole] = self.plan
        whole_weight = grid.weight(grid.inside(whole))
        extra = _GAIN * whole_weight / len(grid.points)
        boxes = cheapest_bodies(grid, self.setting.options.specializations, extra, self._cost)
        alone = (
            sum(min(self._cost(cell)[0], grid.weight(grid.inside(cell))) for cell in grid.cells)
            / whole_weight
        )  # a plan that there was no time to improve may be worse
        told = (
            f"a plan for each size saves {1 - alone:.1%} of the times of one for all, in their "
            f"mean, and each further body has to save {_GAIN:.0%} of the time at a size"
        )
        if boxes == (whole,):
            return told
        shared = self._within_budget(boxes)
        total = sum(self._shares(b, p) for b, p in zip(boxes, shared, strict=True))
        if total + (len(boxes) - 1) * extra >= whole_weight:
            return f"--weight-budget leaves several bodies too little; without it, {told}"
        parts = tuple(
            Specialization(grid.ranges(box), plan, grid.weight(grid.inside(box)) / whole_weight)
            for box, plan in zip(boxes, shared, strict=True)
        )
        least = sum(
            s.share * self.plans[b].solution.bound_ns for b, s in zip(boxes, parts, strict=True)
        )
        found = replace(self.plan, specializations=parts)
        return replace(found, solution=self._solution(found.cost_ns, round(least)))

    def _cost(self, box: Box) -> tuple[float, float]:
        """What the plan for a box takes at its sizes, see `_shares`, and a lower bound of it."""
        plan = self._plan(box)
        cost = self._shares(box, plan)
        return cost, cost * plan.solution.bound_ns / max(1, plan.one_body_ns)

    def _shares(self, box: Box, plan: GraphPlan) -> float:
        """Times at the sizes in a box, of those of one plan for all; the sum, by weight."""
        total = 0.0
        for own, place in enumerate(self.grid.inside(box)):
            taken, whole = plan.cost_at_ns(own), self.plan.cost_at_ns(place)
            share = taken / whole if taken is not None and whole else 1.0
            total += self.grid.weight([place]) * share
        return total

    def _plan(self, box: Box) -> GraphPlan:
        """The cheapest plan for the sizes in a box."""
        if box not in self.plans:
            limit = self.setting.limit
            if limit.is_over:
                raise SolverError(
                    "plans for ranges of sizes",
                    "time to solve them",
                    "none left",
                    "give the solver more time with --time-limit",
                )
            space = self.space.at_sizes(self.grid.inside(box))
            others = max(1, len(self.grid.cells) + 1 - len(self.plans))
            with limit.keeping(others / (others + 1)):
                (self.plans[box],) = self.plans_of(JointSpace.alone(space))
        return self.plans[box]

    def _within_budget(self, boxes: tuple[Box, ...]) -> tuple[GraphPlan, ...]:
        """Plans whose copies of weights together are within the budget.

        Where those of the cheapest ones are not, the cheapest that are, as one integer program: a
        copy that several of them read takes its bytes once.
        """
        plans = tuple(self.plans[box] for box in boxes)
        budget = self.space.budget
        if budget is None or _spent(plans, budget) <= budget.size_bytes:
            return plans
        parts = tuple(self.space.at_sizes(self.grid.inside(box)) for box in boxes)
        shares = [self.grid.weight(self.grid.inside(box)) for box in boxes]
        runs = tuple(max(1, round(_RUNS * share / sum(shares))) for share in shares)
        return self.plans_of(JointSpace(parts, runs))

    def _solution(self, objective_ns: int, bound_ns: int) -> Solution:
        """The answer over all bodies, with what was worked out on the way."""
        solutions = [plan.solution for plan in self.plans.values()]
        own = self.plan.solution
        reasons = [s.stop_reason for s in solutions if s.gap] or [own.stop_reason]
        seconds = sum(s.seconds for s in solutions)
        proved = all(not s.gap for s in solutions)
        bound_ns = objective_ns if proved and abs(objective_ns - bound_ns) <= 1 else bound_ns
        return answer(own.candidates, own.conversions, objective_ns, bound_ns, seconds, reasons[0])


def _spent(plans: Sequence[GraphPlan], budget: CopyBudget) -> int:
    """The bytes of copies of weights that are not held already, each once."""
    made: dict[Hashable, TensorType] = {}
    for plan in plans:
        made |= plan.lowered().copied_weights(budget.held.names)
    return sum(kind.size_bytes for copy, kind in made.items() if copy not in budget.held.copies)
