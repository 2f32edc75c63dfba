"""What plans cost that have less memory, or fewer copies of weights, than the cheapest one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from layoutopt.errors import SolverError
from layoutopt.options import Resource
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.joint_space import JointSpace
from layoutopt.planning.setting import PlanSetting
from layoutopt.solver import TimeLimit, least_memory

POINTS = 5
"""Budgets that are tried, from what the cheapest plan has down to the least."""

Plans = tuple[GraphPlan, ...]


@dataclass(frozen=True, slots=True)
class TradeOff:
    """The cheapest plan within a budget."""

    resource: Resource
    budget_bytes: int | None
    """None for the plan that is written."""
    size_bytes: int | None
    """What the plan has of it; None where there is none, or none was found in time."""
    cost_ns: int | None
    gap: float | None = None
    """How far from the cheapest it may be, relative to it."""


def memory_trade_off(
    space: JointSpace,
    plans: Plans,
    setting: PlanSetting,
    planned: Callable[[JointSpace, PlanSetting], Plans],
) -> Iterator[TradeOff]:
    """The plan as it is, then plans with less memory, down to the least that any can do with."""
    most = peak_bytes(space, plans)
    yield _point(Resource.MEMORY, None, most, plans)
    costs = [(plan.costs, plan.conversion_costs) for plan in plans]
    bounded = space.within(most)
    limit_s = setting.options.time_limit_s
    least = least_memory(bounded.selection(costs).problem, limit_s)
    if least is None:
        return
    seen = {most}
    for budget in _steps(most, least.peak_bytes):
        try:
            found = planned(space.within(budget), replace(setting, limit=TimeLimit(limit_s)))
        except SolverError:
            yield TradeOff(Resource.MEMORY, budget, None, None)
            continue
        size = peak_bytes(space, found)
        if size not in seen:
            yield _point(Resource.MEMORY, budget, size, found)
        seen.add(size)


def peak_bytes(space: JointSpace, plans: Plans) -> int:
    """What tensors take at most while any of the graphs runs by itself."""
    return max(part.peak_bytes(plan.choice) for part, plan in zip(space.parts, plans, strict=True))


def _steps(most: int, least: int) -> list[int]:
    """Budgets below the most, in equal ratios, down to the least."""
    ratio = (least / most) ** (1 / (POINTS - 1)) if most else 1.0
    between = (int(most * ratio**n) for n in range(1, POINTS - 1))
    return list(dict.fromkeys(n for n in (*between, least) if n < most))


def weights_trade_off(
    plans: Plans,
    whole_bytes: int,
    copied_bytes: Callable[[Plans], int],
    planned: Callable[[int], Plans],
) -> Iterator[TradeOff]:
    """The plan as it is, then plans with fewer copies of weights, down to none.

    ``whole_bytes``: of the model's weights. ``planned``: the plans within a number of bytes.
    """
    most = copied_bytes(plans)
    yield _point(Resource.WEIGHTS, None, most, plans)
    seen = {most}
    shares = [n / (POINTS - 1) for n in reversed(range(POINTS))]
    for budget in (int(whole_bytes * share) for share in shares):
        if budget >= most:
            continue
        try:
            found = planned(budget)
        except SolverError:
            yield TradeOff(Resource.WEIGHTS, budget, None, None)
            continue
        size = copied_bytes(found)
        if size not in seen:
            yield _point(Resource.WEIGHTS, budget, size, found)
        seen.add(size)


def _point(
    resource: Resource, budget: int | None, size: int, plans: Sequence[GraphPlan]
) -> TradeOff:
    gap = max((plan.solution.gap or 0.0 for plan in plans), default=0.0)
    return TradeOff(resource, budget, size, sum(plan.cost_ns for plan in plans), gap)
