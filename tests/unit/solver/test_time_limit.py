"""A run has one time limit, and an answer wherever one is known."""

from __future__ import annotations

import time

import pytest

from layoutopt.solver import (
    Candidate,
    Conversion,
    Demand,
    Problem,
    Search,
    Solution,
    Status,
    StopReason,
    TimeLimit,
    check,
    solve,
    time_limit,
)
from layoutopt.solver.solution import no_answer

PROBLEM = Problem(
    tensors=2,
    given=frozenset({(0, 0)}),
    demanded=(Demand(1, (0,)),),
    candidates=(
        Candidate(0, 100, ((0, 0),), ((1, 0),)),
        Candidate(0, 10, ((0, 1),), ((1, 0),)),
    ),
    conversions=(Conversion(0, 0, 1, 5, 0),),
)
AS_IT_CAME = ((0,), ())


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The limit of each solve; every one takes two seconds, by a clock of its own, or its limit."""
    found: list[float] = []
    now = 0.0

    def slow(problem: Problem, search: Search, limit_s: float, gap: float) -> Solution:
        nonlocal now
        found.append(limit_s)
        now += min(2.0, limit_s)
        if limit_s < 2.0:
            return no_answer(Status.UNKNOWN, limit_s, StopReason.TIME_LIMIT)
        return solve(problem, search, limit_s, gap)

    monkeypatch.setattr(time_limit, "solve", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    return found


def test_solves_share_the_limit(limits: list[float]) -> None:
    limit = TimeLimit(5.0)
    solutions = [limit.solve(PROBLEM, known=[AS_IT_CAME]) for _ in range(4)]
    assert limits == [5.0, 3.0, 1.0, 0.0]
    assert limit.is_over
    assert [s.objective_ns for s in solutions] == [15, 15, 100, 100]
    assert [s.stop_reason for s in solutions[2:]] == [StopReason.TIME_LIMIT] * 2
    assert all(check(PROBLEM, s) == [] for s in solutions)


def test_without_a_known_answer_it_is_unknown(limits: list[float]) -> None:
    solution = TimeLimit(0.0).solve(PROBLEM)
    assert (solution.status, solution.stop_reason) == (Status.UNKNOWN, StopReason.TIME_LIMIT)


@pytest.mark.parametrize("known", [((1,), ()), ((), ()), ((0,), (0,)), ((0, 1), (0,))])
def test_what_is_no_answer_does_not_serve(
    limits: list[float], known: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """Or only the part of it that is one."""
    solution = TimeLimit(0.0).solve(PROBLEM, known=[known])
    assert check(PROBLEM, solution) == []
    assert solution.status is (Status.FEASIBLE if 0 in known[0] else Status.UNKNOWN)


def test_a_heuristic_that_gives_up_is_helped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(problem: Problem, search: Search, limit_s: float, gap: float) -> Solution:
        return no_answer(Status.UNKNOWN, 0.0, StopReason.EXHAUSTED)

    monkeypatch.setattr(time_limit, "solve", gives_up)
    limit = TimeLimit(60.0)
    assert limit.solve(PROBLEM, Search.GREEDY).status is Status.UNKNOWN
    assert limit.solve(PROBLEM, Search.GREEDY, [AS_IT_CAME]).objective_ns == 100


def test_a_search_that_is_through_is_not_replaced() -> None:
    solution = TimeLimit(60.0).solve(PROBLEM, known=[AS_IT_CAME])
    assert (solution.status, solution.objective_ns) == (Status.OPTIMAL, 15)


def test_a_share_of_the_limit_is_kept_for_later(limits: list[float]) -> None:
    limit = TimeLimit(4.0)
    with limit.keeping(0.25):
        for _ in range(3):
            limit.solve(PROBLEM, known=[AS_IT_CAME])
        assert limit.is_over
    assert not limit.is_over
    limit.solve(PROBLEM, known=[AS_IT_CAME])
    assert limits == [3.0, 1.0, 0.0, 1.0]


def test_several_plannings_have_as_much_each_and_what_others_left(limits: list[float]) -> None:
    limit = TimeLimit(9.0)
    for place in limit.shared(range(3)):
        for _ in range(place):  # the first one solves nothing: its share is there for the others
            limit.solve(PROBLEM, known=[AS_IT_CAME])
    assert limits == [4.5, 7.0, 5.0]
