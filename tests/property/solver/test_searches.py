"""Every search against the oracle, on small problems of every kind."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.solver import (
    Problem,
    Search,
    Status,
    StopReason,
    check,
    least_memory,
    solve,
    solve_ilp,
)
from layoutopt.solver.derivability import Derivability
from layoutopt.solver.exhaustive import solve_exhaustively
from layoutopt.solver.flow import build
from layoutopt.solver.landmarks import landmarks
from layoutopt.solver.reduce import reduce
from tests.property.solver.problems import (
    loose_problems,
    network,
    residual_network,
    small_graph,
    small_graphs,
    with_memory,
)
from tests.property.solver.rewritten import rewritten_graphs

problems = st.one_of(loose_problems(), small_graphs(), rewritten_graphs())
problems = st.one_of(problems, st.builds(with_memory, problems, st.integers(0, 1_000_000)))


@settings(max_examples=300)
@given(problems)
def test_the_integer_program_finds_the_oracles_optimum(problem: Problem) -> None:
    oracle = solve_exhaustively(problem)
    found = solve(problem)
    assert check(problem, oracle) == []
    assert check(problem, found) == []
    assert (found.status, found.objective_ns) == (oracle.status, oracle.objective_ns)


@settings(max_examples=40)
@given(problems, st.sampled_from((Search.GREEDY, Search.TASO, Search.PBQP)))
def test_a_heuristic_is_right_and_never_below_the_optimum(problem: Problem, search: Search) -> None:
    oracle = solve_exhaustively(problem)
    found = solve(problem, search, time_limit_s=5)
    assert check(problem, found) == []
    if oracle.objective_ns is None:
        assert found.objective_ns is None
    elif found.objective_ns is None:
        assert found.status is Status.UNKNOWN
    else:
        assert found.objective_ns >= oracle.objective_ns


@settings(max_examples=20)
@given(problems, st.sampled_from(tuple(Search)))
def test_same_problem_same_answer(problem: Problem, search: Search) -> None:
    first, second = solve(problem, search), solve(problem, search)
    assert (first.candidates, first.conversions) == (second.candidates, second.conversions)
    assert (first.status, first.stop_reason) == (second.status, second.stop_reason)


@settings(max_examples=300)
@given(problems, st.integers(0, 1_000_000))
def test_every_answer_keeps_the_landmarks(problem: Problem, seed: int) -> None:
    """Whatever fractions they are looked for in."""
    oracle = solve_exhaustively(problem)
    reduced = reduce(problem)
    if reduced is None or oracle.objective_ns is None:
        return
    flow, r = build(reduced.problem), random.Random(seed)
    halves = [r.choice((0.0, 0.3, 0.5, 1.0)) for _ in flow.program.costs]
    best = solve_ilp(problem)
    used = {flow.candidates[i] for i, c in enumerate(reduced.candidates) if c in best.candidates}
    for terms in landmarks(Derivability(reduced.problem), flow, halves):
        assert sum(factor for variable, factor in terms if variable in used) <= 0


@settings(max_examples=60)
@given(problems, st.integers(0, 1_000_000))
def test_the_least_memory_is_the_oracles(drawn: Problem, seed: int) -> None:
    problem = with_memory(drawn, seed)

    def fits(budget: int) -> bool:
        bounded = replace(problem, memory=replace(problem.memory, budget_bytes=budget))
        return solve_exhaustively(bounded).objective_ns is not None

    least = least_memory(problem)
    if least is None:
        assert not fits(10**6)
        return
    assert fits(least.peak_bytes)
    assert not least.peak_bytes or not fits(least.peak_bytes - 1)
    assert least.bound_bytes == least.peak_bytes


@pytest.mark.parametrize("seed", range(2))
def test_a_residual_network_is_solved_to_the_optimum(seed: int) -> None:
    problem = residual_network(seed=seed)
    found = solve(problem, time_limit_s=30)
    assert found.status is Status.OPTIMAL
    assert check(problem, found) == []


def test_a_random_network_is_solved_to_the_optimum() -> None:
    problem = network(100)
    found = solve(problem, time_limit_s=60)
    assert found.status is Status.OPTIMAL
    assert check(problem, found) == []


def test_an_answer_that_is_close_enough_ends_the_search() -> None:
    problem = small_graph(56)  # its bound is below its optimum until a proof is asked for
    found = solve_ilp(problem, gap=0.5)
    assert (found.status, found.stop_reason) == (Status.FEASIBLE, StopReason.CLOSE)
    assert found.gap is not None
    assert 0 < found.gap <= 0.5
    assert check(problem, found) == []
    assert solve_ilp(problem, gap=0.1).stop_reason is StopReason.PROVED


def test_an_early_stop_keeps_an_answer_and_a_bound() -> None:
    problem = network(200)
    greedy = solve(problem, Search.GREEDY)
    found = solve(problem, time_limit_s=0.4)
    assert check(problem, found) == []
    assert found.objective_ns is not None
    assert greedy.objective_ns is not None
    assert found.objective_ns <= greedy.objective_ns
