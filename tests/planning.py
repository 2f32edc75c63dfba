"""Plans under made-up prices, for tests: no clock, and any form can be made the cheapest."""

from __future__ import annotations

from collections.abc import Callable

from layoutopt.candidate import Candidate
from layoutopt.explore import Space, explore
from layoutopt.graph import Graph
from layoutopt.lowering import Lowered, lower
from layoutopt.profiles.target import load_target
from layoutopt.selection import build_selection, is_free, needed_conversions
from layoutopt.solver import Status, check, solve

HOST = load_target("host")
Price = Callable[[Space, Candidate], int]


def planned(graph: Graph, price: Price, conversion_ns: int, budget: int | None = None) -> Lowered:
    """The cheapest plan under made-up prices."""
    space = explore(graph, HOST)
    costs = {c: price(space, c) for c in space.candidates}
    conversions = needed_conversions(space.egraph.graph, space.clusters, tuple(costs))
    changes = {c: 0 if is_free(space.egraph.graph, c) else conversion_ns for c in conversions}
    selection = build_selection(
        space.egraph.graph, space.clusters, costs, changes, weight_budget_bytes=budget
    )
    solution = solve(selection.problem)
    assert solution.status is Status.OPTIMAL
    assert check(selection.problem, solution) == []
    return lower(
        space.egraph.graph,
        space.clusters,
        selection.choice(solution.candidates, solution.conversions),
    )
