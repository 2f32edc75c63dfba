"""Problems in pieces against the same as a whole."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from layoutopt.solver import Problem, Status, check, ilp, solve_ilp
from layoutopt.solver.joints import Part, solve_pieces
from layoutopt.solver.pieces import pieces
from tests.property.solver.problems import chained, residual_network, small_graph
from tests.property.solver.rewritten import rewritten_graphs

SEEDS = st.lists(st.integers(0, 400), min_size=2, max_size=4)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems of all sizes, and pieces too."""
    monkeypatch.setattr(ilp, "LARGE", 0)
    monkeypatch.setattr(ilp, "SMALLEST", 1)


def as_a_whole(problem: Problem) -> tuple[Status, int | None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ilp, "LARGE", 10**9)
        found = solve_ilp(problem)
    assert check(problem, found) == []
    return found.status, found.objective_ns


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problem=st.one_of(st.builds(chained, SEEDS), rewritten_graphs()))
@example(problem=chained([1, 102, 0]))  # a tensor that is given is made, too
@example(problem=chained([183, 117, 0]))  # a piece has a demand of its own, and no reader
def test_pieces_have_the_optimum_of_the_whole(always: None, problem: Problem) -> None:
    found = solve_ilp(problem)
    assert check(problem, found) == []
    assert (found.status, found.objective_ns) == as_a_whole(problem)


def test_some_of_these_problems_fall_into_several_pieces() -> None:
    found = [pieces(chained([a, b, a]), 1) for a, b in zip(range(40), range(40, 80), strict=True)]
    counts = Counter(len(parts.joints) for parts in found)
    assert sum(number for joints, number in counts.items() if joints >= 2) >= 10


def test_a_network_in_pieces(always: None) -> None:
    problem = residual_network(seed=0)
    found = solve_ilp(problem)
    assert (found.status, found.objective_ns) == as_a_whole(problem)


def test_equal_pieces_are_solved_once() -> None:
    same = (chained([seed] * 5) for seed in range(100))
    problem = next(p for p in same if len(pieces(p, 1).joints) >= 4 and as_a_whole(p)[1])
    solved: list[Problem] = []

    def solve(piece: Problem) -> Part | None:
        solved.append(piece)
        found = solve_ilp(piece)
        if found.objective_ns is None:
            return None
        return Part(found.candidates, found.conversions, found.objective_ns, found.bound_ns)

    parts = pieces(problem, 1)
    whole = solve_pieces(problem, parts, solve)
    assert whole is not None
    assert len(solved) == len({str(piece) for piece in solved})
    assert len(solved) < 2 * len(parts.joints)


def test_small_pieces_join_their_neighbours() -> None:
    fewer = 0
    for seed in range(60):
        problem = chained([seed, seed + 1, seed + 2, seed + 3])
        apart, joined = pieces(problem, 1), pieces(problem, 12)
        sizes = Counter(joined.of)
        assert all(sizes[end] >= 12 for ends in joined.joints.values() for end in ends)
        fewer += 0 < len(joined.joints) < len(apart.joints)
    assert fewer


def test_budgets_tie_pieces_together(always: None) -> None:
    """A problem with one is solved as a whole."""
    budgeted = next(
        p for p in map(small_graph, range(100)) if p.weight_budget_bytes and as_a_whole(p)[1]
    )
    found = solve_ilp(budgeted)
    assert (found.status, found.objective_ns) == as_a_whole(budgeted)
