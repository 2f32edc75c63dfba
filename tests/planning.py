"""Plans under made-up prices, for tests: no clock, and any form can be made the cheapest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice, is_free, needed_conversions
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.explore import Space, explore
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.lowered import Lowered
from layoutopt.lowering.lower import lower, packs_lowered
from layoutopt.options import Options
from layoutopt.planning.copy_budget import CopyBudget
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.selection import build_selection
from layoutopt.planning.setting import PlanSetting
from layoutopt.pricing.prices import Pricer
from layoutopt.profiles.target import Target, load_target
from layoutopt.runtime.steps import Clock, SilentSteps
from layoutopt.solver import Status, TimeLimit, check, solve

HOST = load_target("host")
Price = Callable[[Space, Candidate], int]


def setting(target: Target, pricer: Pricer, options: Options | None = None) -> PlanSetting:
    """Planned with these, without a word."""
    options = options or Options()
    limit = TimeLimit(options.time_limit_s)
    return PlanSetting(target, pricer, options, limit, Clock(SilentSteps()))


def planned(graph: Graph, price: Price, conversion_ns: int, budget: int | None = None) -> Lowered:
    """The cheapest plan under made-up prices."""
    space = explore(graph, HOST)
    costs = {c: price(space, c) for c in space.candidates}
    conversions = needed_conversions(space.egraph.graph, space.clusters, tuple(costs))
    changes = {c: 0 if is_free(space.egraph.graph, c) else conversion_ns for c in conversions}
    selection = build_selection(
        space.egraph.graph,
        space.clusters,
        costs,
        changes,
        budget=None if budget is None else CopyBudget(budget),
    )
    solution = solve(selection.problem)
    assert solution.status is Status.OPTIMAL
    assert check(selection.problem, solution) == []
    return lower(
        space.egraph.graph,
        space.clusters,
        selection.choice(solution.candidates, solution.conversions),
    )


def with_row_major_ends(graph: Graph, choice: Choice, io: dict[int, Layout]) -> Choice:
    """The choice with conversions at its ends, so that it takes and gives row-major tensors."""
    more: dict[Conversion, None] = dict.fromkeys(choice.conversions)
    for tensor, layout in io.items():
        plain = row_major(layout.rank)
        if layout == plain:
            continue
        if tensor in graph.inputs:
            more[Conversion(tensor, plain, layout)] = None
        else:
            more[Conversion(tensor, layout, plain)] = None
    return replace(choice, conversions=tuple(more))


def lowered_with_row_major_ends(plan: GraphPlan) -> Lowered:
    """A plan whose inputs and outputs may lie in any layout, between conversions."""
    graph = plan.egraph.graph
    found = lower(graph, plan.clusters, with_row_major_ends(graph, plan.choice, plan.io))
    return packs_lowered(found) if plan.lower_packs else found
