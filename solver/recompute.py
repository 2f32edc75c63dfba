"""Which operations may be worth running twice, in two layouts, rather than converting once?

Beside candidate `a`, candidate `b` of the same op never pays if everything it supplies can be
converted from what `a` made, for at most the cost of `b`: each output itself, and each conversion
that starts from it. Not so where an answer could become circular. Nor does a second candidate pay
for an op that makes one tensor for one reader, which takes it in one layout. Where no pair of
candidates pays, the rows of the integer program are tighter.
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

    settled = {op for op, indices in by_op.items() if once(indices)}
    return _with_single_readers(problem, by_op, settled)


def _with_single_readers(
    problem: Problem, by_op: dict[int, list[int]], once: set[int]
) -> frozenset[int]:
    """Add the ops that make one tensor, for one demand or for one op that takes it one way once."""
    readers: dict[int, set[int | None]] = {}
    several: set[int] = set()  # tensors read by two demands, or in two layouts by one candidate
    for demand in problem.demanded:
        if None in readers.setdefault(demand.tensor, set()):
            several.add(demand.tensor)
        readers[demand.tensor].add(None)
    for candidate in problem.candidates:
        tensors = [tensor for tensor, _ in candidate.inputs]
        several.update(t for t in tensors if tensors.count(t) > 1)
        for tensor in tensors:
            readers.setdefault(tensor, set()).add(candidate.op)
    makers: dict[int, list[int]] = {}
    for op, indices in by_op.items():
        made = {t for i in indices for t, _ in problem.candidates[i].outputs}
        if len(made) == 1 and made.isdisjoint(several) and len(readers.get(min(made), ())) == 1:
            makers.setdefault(min(made), []).append(op)

    settled = set(once)
    stack = [op for t, ops in makers.items() if None in readers[t] for op in ops]
    needs = {
        op: {t for i in ix for t, _ in problem.candidates[i].inputs} for op, ix in by_op.items()
    }
    stack += [
        op for reader in sorted(once) for t in sorted(needs[reader]) for op in makers.get(t, ())
    ]
    while stack:
        op = stack.pop()
        if op not in settled:
            settled.add(op)
            stack += [maker for t in sorted(needs[op]) for maker in makers.get(t, ())]
    return frozenset(settled)


def _replacement(problem: Problem) -> Callable[[int, int, int], float]:
    """Cost in ns, at most, of taking everything that came from one layout from another one."""
    tables = Supply(problem)
    cost_ns: dict[tuple[int, int, int], float] = {}
    for c in problem.conversions:
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


def required_ops(problem: Problem) -> frozenset[int]:
    """Return ops that every answer uses: sole makers of what is demanded, and so on from there."""
    makers: dict[int, set[int]] = {}
    by_op: dict[int, list[frozenset[int]]] = {}
    for candidate in problem.candidates:
        by_op.setdefault(candidate.op, []).append(frozenset(t for t, _ in candidate.inputs))
        for tensor, _ in candidate.outputs:
            makers.setdefault(tensor, set()).add(candidate.op)
    given = {tensor for tensor, _ in problem.given}
    stack = [d.tensor for d in problem.demanded]
    required: set[int] = set()
    while stack:
        tensor = stack.pop()
        ops = makers.get(tensor, set())
        if tensor in given or len(ops) != 1 or ops <= required:
            continue
        required |= ops
        stack.extend(frozenset.intersection(*by_op[min(ops)]))
    return frozenset(required)
