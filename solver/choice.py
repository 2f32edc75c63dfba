"""One maker for each tensor: what that answers, and at what cost."""

from dataclasses import dataclass

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.memory import is_over
from layoutopt.solver.problem import Pair

Choice = tuple[int | None, ...]  # for each tensor, the candidate that makes it if it is needed


@dataclass(frozen=True, slots=True)
class Priced:
    """An answer and the sum of its costs."""

    cost_ns: int
    candidates: tuple[int, ...]
    conversions: tuple[int, ...]


def used_candidates(tables: Derivability, choice: Choice) -> list[int]:
    """The candidates that the demands lead back to, ascending."""
    stack = [d.tensor for d in tables.problem.demanded]
    seen = set(stack)
    used: set[int] = set()
    while stack:
        i = choice[stack.pop()]
        if i is None:
            continue
        used.add(i)
        for tensor, _ in tables.problem.candidates[i].inputs:
            if tensor not in seen:
                seen.add(tensor)
                stack.append(tensor)
    return sorted(used)


def price(tables: Derivability, choice: Choice) -> Priced | None:
    """Convert what the chosen candidates need, cheapest first; None if that is not an answer."""
    problem = tables.problem
    candidates = used_candidates(tables, choice)
    native = {*problem.given, *(p for i in candidates for p in problem.candidates[i].outputs)}
    ways: dict[Pair, int] = {}
    for i in candidates:
        for pair in problem.candidates[i].inputs:
            if pair not in native and pair not in ways:
                way = _way(tables, native, pair)
                if way is None:
                    return None
                ways[pair] = way
    for demand in problem.demanded:
        pairs = [(demand.tensor, layout) for layout in demand.layouts]
        if any(pair in native or pair in ways for pair in pairs):
            continue
        offers = [(_way(tables, native, pair), pair) for pair in pairs]
        found = [(problem.conversions[w].cost_ns, w, p) for w, p in offers if w is not None]
        if not found:
            return None
        _, way, pair = min(found)
        ways[pair] = way
    pruned = tables.pruned(candidates, ways.values())
    budget = problem.weight_budget_bytes
    if pruned is None or (budget is not None and tables.size_bytes(pruned[1]) > budget):
        return None
    if is_over(problem, *pruned):
        return None
    made = [t for i in pruned[0] for t in {t for t, _ in problem.candidates[i].outputs}]
    if len(made) != len(set(made)):
        return None
    return Priced(tables.cost_ns(*pruned), *pruned)


def _way(tables: Derivability, native: set[Pair], pair: Pair) -> int | None:
    conversions = tables.problem.conversions
    ways = [
        (conversions[i].cost_ns, conversions[i].size_bytes, i)
        for i in tables.arriving.get(pair, ())
        if (pair[0], conversions[i].source) in native
    ]
    return min(ways)[2] if ways else None
