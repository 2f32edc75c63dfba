"""The searches by name."""

import time
from collections.abc import Callable
from enum import StrEnum

from layoutopt.solver.greedy import solve_greedy
from layoutopt.solver.ilp import solve_ilp
from layoutopt.solver.pbqp import solve_pbqp
from layoutopt.solver.problem import Problem
from layoutopt.solver.solution import Solution
from layoutopt.solver.taso import solve_taso


class Search(StrEnum):
    """An algorithm that selects."""

    ILP = "ilp"  # the integer program, from the greedy answer on
    GREEDY = "greedy"
    TASO = "taso"
    PBQP = "pbqp"


def _warm_ilp(problem: Problem, time_limit_s: float) -> Solution:
    start = time.perf_counter()
    warm = solve_greedy(problem)
    return solve_ilp(problem, time_limit_s - (time.perf_counter() - start), warm)


SEARCHES: dict[Search, Callable[[Problem, float], Solution]] = {
    Search.ILP: _warm_ilp,
    Search.GREEDY: solve_greedy,
    Search.TASO: solve_taso,
    Search.PBQP: solve_pbqp,
}


def solve(problem: Problem, search: Search = Search.ILP, time_limit_s: float = 60.0) -> Solution:
    """Solve with the named search; a time limit in seconds is never an error."""
    return SEARCHES[search](problem, time_limit_s)
