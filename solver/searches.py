"""The searches by name."""

import time
from collections.abc import Callable
from enum import StrEnum

from layoutopt.solver.greedy import solve_greedy
from layoutopt.solver.ilp import solve_ilp
from layoutopt.solver.pbqp import solve_pbqp
from layoutopt.solver.problem import Problem
from layoutopt.solver.solution import Solution, StopReason, answer
from layoutopt.solver.taso import solve_taso


class Search(StrEnum):
    """An algorithm that selects."""

    ILP = "ilp"  # the integer program, from the greedy answer on; PBQP's where time is short
    GREEDY = "greedy"
    TASO = "taso"
    PBQP = "pbqp"


_GAP = 0.01
"""Of an answer that was cut short, above which another search may help."""


def _warm_ilp(problem: Problem, time_limit_s: float, gap: float) -> Solution:
    start = time.perf_counter()
    warm = solve_greedy(problem)
    found = solve_ilp(problem, time_limit_s - (time.perf_counter() - start), warm, gap)
    near = found.gap is not None and found.gap <= _GAP
    if near or found.stop_reason is not StopReason.TIME_LIMIT:
        return found
    other = solve_pbqp(problem, 0.0)
    cost_ns, known_ns = other.objective_ns, found.objective_ns
    if cost_ns is None or (known_ns is not None and known_ns <= cost_ns):
        return found
    chosen, seconds = (other.candidates, other.conversions), time.perf_counter() - start
    return answer(*chosen, cost_ns, found.bound_ns, seconds, found.stop_reason)


_HEURISTICS: dict[Search, Callable[[Problem, float], Solution]] = {
    Search.GREEDY: solve_greedy,
    Search.TASO: solve_taso,
    Search.PBQP: solve_pbqp,
}


def solve(
    problem: Problem, search: Search = Search.ILP, time_limit_s: float = 60.0, gap: float = 0.0
) -> Solution:
    """Solve with the named search; a time limit in seconds is never an error.

    `gap`: how far from the cheapest, relative to it, is good enough for the integer program.
    """
    if search is Search.ILP:
        return _warm_ilp(problem, time_limit_s, gap)
    return _HEURISTICS[search](problem, time_limit_s)
