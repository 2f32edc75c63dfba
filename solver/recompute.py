"""Which operations may be worth running twice, in two layouts, rather than converting once?

Beside candidate `a`, candidate `b` of the same op never pays if everything it supplies can be converted from what
`a` made, for at most the cost of `b`: each output itself, and each conversion that starts from it.
Where that holds for every pair, one way or the other, one candidate of the op is enough, and the
rows of the integer program get tighter. Not used where an answer could become circular.
"""

import math
from collections.abc import Callable
from functools import cache
from itertools import combinations

import networkx as nx

from layoutopt.solver.problem import Problem
from layoutopt.solver.supply import Supply


def circular_tensors(problem: Problem) -> frozenset[int]:
    """Return the tensors that could, by some choice of candidates, be needed for themselves."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    for candidate in problem.candidates:
        for need, _ in candidate.inputs:
            graph.add_edges_from((need, made) for made, _ in candidate.outputs)
    circular: set[int] = set()
    for component in nx.strongly_connected_components(graph):
        if len(component) > 1 or any(graph.has_edge(t, t) for t in component):
            circular |= component
    return frozenset(circular)


def used_once(problem: Problem, circular: frozenset[int]) -> frozenset[int]:
    """Return the ops of which some cheapest answer uses at most one candidate."""
    by_op: dict[int, list[int]] = {}
    for i, candidate in enumerate(problem.candidates):
        by_op.setdefault(candidate.op, []).append(i)
    added_ns = _replacement(problem)

    def spares(kept: int, dropped: int) -> bool:
        made: dict[int, list[int]] = {}
        for tensor, layout in problem.candidates[kept].outputs:
            made.setdefault(tensor, []).append(layout)
        total = 0.0
        for tensor, layout in problem.candidates[dropped].outputs:
            total += min(
                (added_ns(tensor, layout, p) for p in made.get(tensor, ())), default=math.inf
            )
        return total <= problem.candidates[dropped].cost_ns

    def once(indices: list[int]) -> bool:
        if any(t in circular for i in indices for t, _ in problem.candidates[i].outputs):
            return len(indices) == 1
        return all(spares(a, b) or spares(b, a) for a, b in combinations(indices, 2))

    return frozenset(op for op, indices in by_op.items() if once(indices))


def _replacement(problem: Problem) -> Callable[[int, int, int], float]:
    """Cost in ns, at most, of taking everything that came from one layout from another one."""
    tables = Supply(problem)
    cost_ns: dict[tuple[int, int, int], float] = {}
    for i, c in enumerate(problem.conversions):
        paid = problem.weight_budget_bytes is not None and c.size_bytes > 0
        cost_ns[c.tensor, c.source, c.target] = math.inf if paid else c.cost_ns

    @cache
    def added_ns(tensor: int, dropped: int, kept: int) -> float:
        if dropped == kept:
            return 0.0
        total = 0.0
        if tables.users.get((tensor, dropped)) or (tensor, dropped) in demanded:
            total = cost_ns.get((tensor, kept, dropped), math.inf)
        for i in tables.departing.get((tensor, dropped), ()):
            c = problem.conversions[i]
            if c.target != kept:
                now = cost_ns.get((tensor, kept, c.target), math.inf)
                total += max(0.0, now - c.cost_ns)
        return total

    demanded = {(d.tensor, layout) for d in problem.demanded for layout in d.layouts}
    return added_ns
