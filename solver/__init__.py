"""The selection problem: choose candidates and conversions at the least cost. Knows only integers.

`solve(problem)` answers, a `TimeLimit` bounds all solves of a run together, `check(problem,
solution)` re-checks any answer without a solver.
"""

from layoutopt.solver.check import check, unmet
from layoutopt.solver.greedy import solve_greedy
from layoutopt.solver.ilp import solve_ilp
from layoutopt.solver.least_memory import LeastMemory, least_memory
from layoutopt.solver.memory import held_bytes, peak_bytes
from layoutopt.solver.pbqp import solve_pbqp
from layoutopt.solver.problem import Candidate, Conversion, Demand, Memory, Pair, Place, Problem
from layoutopt.solver.searches import Search, solve
from layoutopt.solver.solution import Solution, Status, StopReason
from layoutopt.solver.taso import solve_taso
from layoutopt.solver.time_limit import CHEAPEST, Enough, TimeLimit

__all__ = [
    "CHEAPEST",
    "Candidate",
    "Conversion",
    "Demand",
    "Enough",
    "LeastMemory",
    "Memory",
    "Pair",
    "Place",
    "Problem",
    "Search",
    "Solution",
    "Status",
    "StopReason",
    "TimeLimit",
    "check",
    "held_bytes",
    "least_memory",
    "peak_bytes",
    "solve",
    "solve_greedy",
    "solve_ilp",
    "solve_pbqp",
    "solve_taso",
    "unmet",
]
