"""The oracle: try every set of candidates and the conversions they ask for. For tiny problems."""

import time
from collections.abc import Iterator
from itertools import chain, combinations

from layoutopt.solver.memory import is_over
from layoutopt.solver.problem import Pair, Problem
from layoutopt.solver.solution import Solution, Status, StopReason, answer, no_answer

MOST_CHOICES = 24  # candidates and conversions together


def solve_exhaustively(problem: Problem) -> Solution:
    """Return the cheapest answer, one with the fewest candidates among equals.

    Raises ValueError beyond 24 candidates and conversions.
    """
    start = time.perf_counter()
    choices = len(problem.candidates) + len(problem.conversions)
    if choices > MOST_CHOICES:
        raise ValueError(
            f"exhaustive search: expected at most {MOST_CHOICES} candidates and conversions, "
            f"but got {choices}; use another search"
        )
    best: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    best_ns = 0
    for candidates in sorted(_made_once(problem, (), frozenset()), key=len):
        candidates_ns = sum(problem.candidates[i].cost_ns for i in candidates)
        if best is not None and candidates_ns >= best_ns:
            continue
        for conversions in _subsets(_askable(problem, candidates)):
            total_ns = candidates_ns + sum(problem.conversions[i].cost_ns for i in conversions)
            if best is not None and total_ns >= best_ns:
                continue
            if _is_answer(problem, candidates, conversions) and not is_over(
                problem, candidates, conversions
            ):
                best, best_ns = (candidates, conversions), total_ns
    seconds = time.perf_counter() - start
    if best is None:
        return no_answer(Status.INFEASIBLE, seconds, StopReason.PROVED)
    return answer(*best, best_ns, best_ns, seconds, StopReason.PROVED)


def _made_once(
    problem: Problem, chosen: tuple[int, ...], made: frozenset[int]
) -> Iterator[tuple[int, ...]]:
    """Yield every set of candidates that extends `chosen` and makes no tensor twice."""
    yield chosen
    for i in range(chosen[-1] + 1 if chosen else 0, len(problem.candidates)):
        tensors = frozenset(tensor for tensor, _ in problem.candidates[i].outputs)
        if made.isdisjoint(tensors):
            yield from _made_once(problem, (*chosen, i), made | tensors)


def _askable(problem: Problem, candidates: tuple[int, ...]) -> list[int]:
    """Return the conversions from what is native to what may be demanded."""
    native = {*problem.given, *(p for i in candidates for p in problem.candidates[i].outputs)}
    asked = {p for i in candidates for p in problem.candidates[i].inputs}
    asked |= {(d.tensor, layout) for d in problem.demanded for layout in d.layouts}
    return [
        i
        for i, c in enumerate(problem.conversions)
        if (c.tensor, c.source) in native and (c.tensor, c.target) in asked
    ]


def _subsets(conversions: list[int]) -> Iterator[tuple[int, ...]]:
    sizes = range(len(conversions) + 1)
    return chain.from_iterable(combinations(conversions, size) for size in sizes)


def _is_answer(problem: Problem, candidates: tuple[int, ...], conversions: tuple[int, ...]) -> bool:
    budget = problem.weight_budget_bytes
    if budget is not None and sum(problem.conversions[i].size_bytes for i in conversions) > budget:
        return False
    native: set[Pair] = set(problem.given)
    available: set[Pair] = set(problem.given)
    waiting = list(candidates)
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
