"""The selection problem: choose candidates and conversions at the least cost. Knows only integers.

`solve(problem)` answers, `check(problem, solution)` re-checks any answer without a solver.
"""

import time
from collections.abc import Callable
from typing import Literal

from layoutopt.solver.check import check, unmet
from layoutopt.solver.greedy import solve_greedy
from layoutopt.solver.ilp import solve_ilp
from layoutopt.solver.problem import Candidate, Conversion, Demand, Pair, Problem
from layoutopt.solver.solution import Solution, Status, StopReason
from layoutopt.solver.taso import solve_taso

__all__ = [
    "SEARCHES",
    "Candidate",
    "Conversion",
    "Demand",
    "Pair",
    "Problem",
    "Search",
    "Solution",
    "Status",
    "StopReason",
    "check",
    "solve",
    "solve_greedy",
    "solve_ilp",
    "solve_taso",
    "unmet",
]

Search = Literal["ilp", "greedy", "taso"]


def _warm_ilp(problem: Problem, time_limit_s: float) -> Solution:
    start = time.perf_counter()
    warm = solve_greedy(problem)
    return solve_ilp(problem, time_limit_s - (time.perf_counter() - start), warm)


SEARCHES: dict[Search, Callable[[Problem, float], Solution]] = {
    "ilp": _warm_ilp,
    "greedy": solve_greedy,
    "taso": solve_taso,
}


def solve(problem: Problem, search: Search = "ilp", time_limit_s: float = 60.0) -> Solution:
    """Solve with the named search; a time limit in seconds is never an error."""
    return SEARCHES[search](problem, time_limit_s)
