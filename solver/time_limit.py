"""One time limit for all solves of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from layoutopt.solver.check import check
from layoutopt.solver.derivability import Derivability
from layoutopt.solver.problem import Problem
from layoutopt.solver.searches import Search, solve
from layoutopt.solver.solution import Solution, Status, StopReason, answer

_Item = TypeVar("_Item")

Answer = tuple[tuple[int, ...], tuple[int, ...]]
"""Indices of candidates and conversions."""


@dataclass(frozen=True, slots=True)
class Enough:
    """When a search may end before it knows the cheapest answer."""

    seconds: float = math.inf
    gap: float = 0.0
    """Of an answer, relative to it."""
    share: float = 1.0
    """Of the time that all solves have left, at most: many searches leave some for the last."""


CHEAPEST = Enough()
"""Not before the time that all solves have is over."""


class TimeLimit:
    """Seconds that all solves of a run may take together."""

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self._left_s <= 0

    @contextmanager
    def keeping(self, share: float) -> Iterator[None]:
        """Keep a share of what is left for later."""
        kept_s = max(0.0, self._left_s) * share
        self._left_s -= kept_s
        try:
            yield
        finally:
            self._left_s = max(0.0, self._left_s) + kept_s

    def shared(self, items: Sequence[_Item]) -> Iterator[_Item]:
        """The items, and for as long as each is out, as much kept as for all of those behind it.

        What one leaves is there for the next ones.
        """
        for place, item in enumerate(items):
            with self.keeping(1 - 1 / (len(items) - place)):
                yield item

    def solve(
        self,
        problem: Problem,
        search: Search = Search.ILP,
        known: Iterable[Answer] = (),
        enough: Enough = CHEAPEST,
    ) -> Solution:
        """Solve in the seconds that are left, or until an answer is good ``enough``.

        ``known``: answers of this problem, which serve where the search ends without one or where
        its time is up; what is not an answer of it is left out.
        """
        start = time.perf_counter()
        seconds = max(0.0, min(self._left_s * enough.share, enough.seconds))
        solution = solve(problem, search, seconds, enough.gap)
        self._left_s -= time.perf_counter() - start
        cut_short = solution.stop_reason is StopReason.TIME_LIMIT
        if solution.status is not Status.UNKNOWN and not cut_short:
            return solution
        found = [_answer(problem, solution, known_one) for known_one in known]
        answers = [s for s in (solution, *found) if s is not None and s.objective_ns is not None]
        return min(answers, key=lambda s: s.objective_ns or 0, default=solution)


def _answer(problem: Problem, solution: Solution, known: Answer) -> Solution | None:
    """A known answer under the bound of a search; None where it is none."""
    tables = Derivability(problem)
    pruned = tables.pruned(*known)
    if pruned is None:
        return None
    cost_ns = tables.cost_ns(*pruned)
    found = answer(*pruned, cost_ns, solution.bound_ns, solution.seconds, solution.stop_reason)
    return None if check(problem, found) else found
