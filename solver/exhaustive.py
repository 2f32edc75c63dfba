"""The oracle: try every subset of candidates and conversions. For tiny problems only."""

import time
from itertools import chain, combinations

from layoutopt.solver.problem import Pair, Problem
from layoutopt.solver.solution import Solution, Status, StopReason, answer, no_answer

MOST_CHOICES = 20  # candidates and conversions together: a million subsets


def solve_exhaustively(problem: Problem) -> Solution:
    """Return the cheapest answer, the one with the fewest and lowest choices among equals.

    Raises ValueError beyond 20 candidates and conversions.
    """
    start = time.perf_counter()
    count = len(problem.candidates)
    choices = count + len(problem.conversions)
    if choices > MOST_CHOICES:
        raise ValueError(
            f"exhaustive search: expected at most {MOST_CHOICES} candidates and conversions, "
            f"but got {choices}; use another search"
        )
    cost_ns = [c.cost_ns for c in problem.candidates] + [c.cost_ns for c in problem.conversions]
    best: tuple[int, ...] | None = None
    best_ns = 0
    for chosen in chain.from_iterable(combinations(range(choices), k) for k in range(choices + 1)):
        total_ns = sum(cost_ns[i] for i in chosen)
        if best is not None and total_ns >= best_ns:
            continue
        candidates = [i for i in chosen if i < count]
        conversions = [i - count for i in chosen if i >= count]
        if _is_answer(problem, candidates, conversions):
            best, best_ns = chosen, total_ns
    seconds = time.perf_counter() - start
    if best is None:
        return no_answer(Status.INFEASIBLE, seconds, StopReason.PROVED)
    candidates = [i for i in best if i < count]
    conversions = [i - count for i in best if i >= count]
    return answer(
        tuple(candidates), tuple(conversions), best_ns, best_ns, seconds, StopReason.PROVED
    )


def _is_answer(problem: Problem, candidates: list[int], conversions: list[int]) -> bool:
    budget = problem.weight_budget_bytes
    if budget is not None and sum(problem.conversions[i].size_bytes for i in conversions) > budget:
        return False
    native: set[Pair] = set(problem.given)
    available: set[Pair] = set(problem.given)
    waiting = candidates
    while True:
        for i in conversions:
            c = problem.conversions[i]
            if (c.tensor, c.source) in native:
                available.add((c.tensor, c.target))
        runs = [i for i in waiting if available.issuperset(problem.candidates[i].inputs)]
        if not runs:
            break
        waiting = [i for i in waiting if i not in runs]
        for i in runs:
            native.update(problem.candidates[i].outputs)
            available.update(problem.candidates[i].outputs)
    return not waiting and all(
        any((d.tensor, layout) in available for layout in d.layouts) for d in problem.demanded
    )
