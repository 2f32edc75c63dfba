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

from layoutopt.solver.choice import Choice, Priced, price
from layoutopt.solver.derivability import Derivability
from layoutopt.solver.greedy import solve_greedy, walked
from layoutopt.solver.problem import Problem
from layoutopt.solver.solution import Solution, StopReason, answer
from layoutopt.solver.substitutes import substitutes, with_makers

ALPHA = 1.05  # TASO's own setting
MOST_EXPANSIONS = 1_000


def solve_taso(problem: Problem, time_limit_s: float = 60.0) -> Solution:
    """Return the best answer found, FEASIBLE with no bound; greedy's failure if it had none."""
    start = time.perf_counter()
    greedy = solve_greedy(problem)
    if greedy.objective_ns is None:
        return greedy
    tables = Derivability(problem)
    best = Priced(greedy.objective_ns, greedy.candidates, greedy.conversions)
    best, reason = backtracked(tables, best, first_choice(tables), start + time_limit_s)
    seconds = time.perf_counter() - start
    return answer(best.candidates, best.conversions, best.cost_ns, 0, seconds, reason)


def backtracked(
    tables: Derivability, best: Priced, first: Choice, until: float
) -> tuple[Priced, StopReason]:
    """The best answer that is found from a ``first`` choice on, whose answer is the best known."""
    seen = {first}
    order = itertools.count()  # choices of one cost, first come first served: they do not compare
    queue = [(best.cost_ns, next(order), first)]
    for _ in range(MOST_EXPANSIONS):
        if not queue:
            break
        cost_ns, _, choice = heapq.heappop(queue)
        if cost_ns > ALPHA * best.cost_ns:
            break
        for substitute in substitutes(tables, choice):
            if time.perf_counter() > until:
                return best, StopReason.TIME_LIMIT
            if substitute in seen:
                continue
            seen.add(substitute)
            priced = price(tables, substitute)
            if priced is None or priced.cost_ns > ALPHA * best.cost_ns:
                continue
            heapq.heappush(queue, (priced.cost_ns, next(order), substitute))
            if priced.cost_ns < best.cost_ns:
                best = priced
    return best, StopReason.EXHAUSTED


def first_choice(tables: Derivability) -> Choice:
    """That of the greedy answer."""
    return with_makers(tables, (None,) * tables.problem.tensors, walked(tables).candidates)
