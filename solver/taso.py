"""Cost-based backtracking search, as TASO does it, for comparison.

Jia et al., "TASO: optimizing deep learning computation with automatic generation of graph
substitutions", SOSP 2019, section 5: a queue of graphs by cost; the cheapest is taken out, every
single substitution of it is priced, and those below alpha times the best known cost are queued. A
substitution here gives the tensors of one candidate that candidate as their maker. The start is the
greedy answer.
"""

import heapq
import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.greedy import solve_greedy, walked
from layoutopt.solver.problem import Pair, Problem
from layoutopt.solver.solution import Solution, StopReason, answer

ALPHA = 1.05  # TASO's own setting
MOST_EXPANSIONS = 1_000

Choice = tuple[int | None, ...]  # for each tensor, the candidate that makes it if it is needed


@dataclass(frozen=True, slots=True)
class _Priced:
    cost_ns: int
    candidates: tuple[int, ...]
    conversions: tuple[int, ...]


def solve_taso(problem: Problem, time_limit_s: float = 60.0) -> Solution:
    """Return the best answer found, FEASIBLE with no bound; greedy's failure if it had none."""
    start = time.perf_counter()
    greedy = solve_greedy(problem)
    if greedy.objective_ns is None:
        return greedy
    tables = Derivability(problem)
    best = _Priced(greedy.objective_ns, greedy.candidates, greedy.conversions)
    first = _first_choice(tables)
    seen = {first}
    order = itertools.count()  # choices of one cost, first come first served: they do not compare
    queue = [(best.cost_ns, next(order), first)]
    reason = StopReason.EXHAUSTED
    for _ in range(MOST_EXPANSIONS):
        if not queue:
            break
        cost_ns, _, choice = heapq.heappop(queue)
        if cost_ns > ALPHA * best.cost_ns:
            break
        for substitute in _substitutes(tables, choice):
            if time.perf_counter() - start > time_limit_s:
                reason = StopReason.TIME_LIMIT
                break
            if substitute in seen:
                continue
            seen.add(substitute)
            priced = _price(tables, substitute)
            if priced is None or priced.cost_ns > ALPHA * best.cost_ns:
                continue
            heapq.heappush(queue, (priced.cost_ns, next(order), substitute))
            if priced.cost_ns < best.cost_ns:
                best = priced
        if reason is StopReason.TIME_LIMIT:
            break
    seconds = time.perf_counter() - start
    return answer(best.candidates, best.conversions, best.cost_ns, 0, seconds, reason)


def _first_choice(tables: Derivability) -> Choice:
    return _with_makers(tables, (None,) * tables.problem.tensors, walked(tables).candidates)


def _with_makers(tables: Derivability, choice: Choice, candidates: Iterable[int]) -> Choice:
    makers = list(choice)
    for i in candidates:
        for tensor, _ in tables.problem.candidates[i].outputs:
            makers[tensor] = i
    return tuple(makers)


def _substitutes(tables: Derivability, choice: Choice) -> Iterator[Choice]:
    """Every choice with one other candidate, for a tensor that is in use, in index order."""
    used = _used_candidates(tables, choice)
    tensors = {t for i in used for t, _ in tables.problem.candidates[i].outputs}
    for i, candidate in enumerate(tables.problem.candidates):
        if i not in used and any(tensor in tensors for tensor, _ in candidate.outputs):
            yield _with_makers(tables, choice, (i,))


def _used_candidates(tables: Derivability, choice: Choice) -> list[int]:
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


def _price(tables: Derivability, choice: Choice) -> _Priced | None:
    """Convert what the chosen candidates need, cheapest first; None if that is not an answer."""
    problem = tables.problem
    candidates = _used_candidates(tables, choice)
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
    made = [t for i in pruned[0] for t in {t for t, _ in problem.candidates[i].outputs}]
    if len(made) != len(set(made)):
        return None
    return _Priced(tables.cost_ns(*pruned), *pruned)


def _way(tables: Derivability, native: set[Pair], pair: Pair) -> int | None:
    conversions = tables.problem.conversions
    ways = [
        (conversions[i].cost_ns, conversions[i].size_bytes, i)
        for i in tables.arriving.get(pair, ())
        if (pair[0], conversions[i].source) in native
    ]
    return min(ways)[2] if ways else None
