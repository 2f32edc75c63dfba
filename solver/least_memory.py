"""The least memory that any answer can do with, however long it takes."""

import math
import time
from dataclasses import dataclass, replace

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.flow import build
from layoutopt.solver.ilp import chosen_of, forbidden
from layoutopt.solver.memory import MemoryRows, held_bytes, peak_bytes
from layoutopt.solver.problem import Problem
from layoutopt.solver.reduce import reduce, restore

_GAP = 0.01  # of the least memory: a budget within it is refused only where nothing fits

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class LeastMemory:
    """An answer that holds little, and a bound: none holds less."""

    peak_bytes: int
    bound_bytes: int
    candidates: tuple[int, ...]
    conversions: tuple[int, ...]


def least_memory(problem: Problem, time_limit_s: float = 60.0) -> LeastMemory | None:
    """Return the answer that holds the least at its fullest step; None if there was no time.

    The costs and the memory budget do not count, the weight budget does.
    """
    deadline = time.perf_counter() + time_limit_s
    most = 1 + sum(place.size_bytes for place in problem.memory.places)
    most += sum(c.scratch_bytes for c in problem.candidates)
    unpriced = replace(
        problem,
        candidates=tuple(replace(c, cost_ns=0) for c in problem.candidates),
        conversions=tuple(replace(c, cost_ns=min(c.cost_ns, 1)) for c in problem.conversions),
        memory=replace(problem.memory, budget_bytes=most),
    )
    reduced = reduce(unpriced)
    if reduced is None:
        return None
    flow, tables = build(reduced.problem), Derivability(reduced.problem)
    flow.program.costs = [0] * len(flow.program.costs)
    share = flow.program.variable(most)
    rows = MemoryRows(tables, flow, most, share)
    while (left_s := deadline - time.perf_counter()) > 0:
        outcome = flow.program.solve(left_s, [True] * len(flow.program.costs), _GAP)
        chosen = chosen_of(tables, flow, outcome)
        if chosen is None or outcome.values is None:
            return None
        if forbidden(tables, flow, *chosen) or rows.add(
            held_bytes(tables.problem, *chosen), outcome.values[share]
        ):
            continue
        found = restore(problem, reduced, *chosen)
        return LeastMemory(
            peak_bytes(problem, *found), max(0, math.ceil(outcome.bound * (1 - 1e-6))), *found
        )
    return None
