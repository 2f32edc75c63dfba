"""Greedy and TASO on problems whose answers are known by hand, and the table of searches."""

import itertools
import random
from dataclasses import replace

import pytest

from layoutopt.solver import (
    Candidate,
    Conversion,
    Demand,
    Problem,
    Search,
    Status,
    StopReason,
    check,
    solve,
    solve_pbqp,
    solve_taso,
)
from layoutopt.solver.choice import price
from layoutopt.solver.derivability import Derivability
from layoutopt.solver.substitutes import substitutes, with_makers
from tests.unit.solver.small import BUDGET, CHAIN, CIRCLE, TWICE


@pytest.mark.parametrize("problem", [CHAIN, CIRCLE, TWICE, BUDGET])
@pytest.mark.parametrize("search", list(Search))
def test_every_search_answers_behind_one_interface(problem: Problem, search: Search) -> None:
    found = solve(problem, search, time_limit_s=10)
    assert check(problem, found) == []
    assert found.objective_ns is not None


@pytest.mark.parametrize("search", list(Search))
def test_no_answer_is_infeasible_for_every_search(search: Search) -> None:
    found = solve(replace(CIRCLE, candidates=CIRCLE.candidates[:2]), search)
    assert (found.status, found.stop_reason) == (Status.INFEASIBLE, StopReason.PROVED)


def shortsighted() -> Problem:
    """Return a chain where the cheap first step leads to a dear second one."""
    return Problem(
        3,
        frozenset({(0, 0)}),
        (Demand(2, (0,)),),
        (
            Candidate(0, 10, ((0, 0),), ((1, 0),)),
            Candidate(0, 11, ((0, 0),), ((1, 1),)),
            Candidate(1, 100, ((1, 0),), ((2, 0),)),
            Candidate(1, 90, ((1, 1),), ((2, 0),)),
        ),
        (Conversion(1, 1, 0, 4),),
    )


def test_greedy_decides_where_it_stands() -> None:
    found = solve(shortsighted(), Search.GREEDY)
    assert (found.status, found.candidates, found.objective_ns) == (Status.FEASIBLE, (0, 2), 110)
    assert (found.bound_ns, found.gap, found.stop_reason) == (0, 1.0, "search exhausted")


def test_greedy_stuck_in_its_choice_is_unknown() -> None:
    problem = replace(
        shortsighted(), candidates=(*shortsighted().candidates[:2], shortsighted().candidates[3])
    )
    found = solve(problem, Search.GREEDY)
    assert (found.status, found.stop_reason) == (Status.UNKNOWN, StopReason.EXHAUSTED)
    assert solve(problem).candidates == (1, 2)


def test_greedy_stuck_at_the_budget_is_unknown() -> None:
    problem = replace(  # the first op spends the budget that only the second one needs
        BUDGET,
        candidates=(*BUDGET.candidates[:2], replace(BUDGET.candidates[3], cost_ns=90)),
    )
    for search in (Search.GREEDY, Search.TASO, Search.PBQP):
        found = solve(problem, search)
        assert (found.status, found.stop_reason) == (Status.UNKNOWN, StopReason.EXHAUSTED)
    assert solve(problem).candidates == (0, 2)


def test_taso_backtracks_out_of_a_shortsighted_start() -> None:
    found = solve_taso(shortsighted())
    assert (found.status, found.candidates) == (Status.FEASIBLE, (1, 3))
    assert (found.objective_ns, found.bound_ns) == (101, 0)


def branching(seed: int) -> Problem:
    """Ops in a ring: a tensor is read on two ways that meet again; each way has its layouts."""
    r = random.Random(seed)
    layouts, length = 3, 4
    first, last, meeting = 1, 2 * length, 2 * length + 1
    candidates: list[Candidate] = []

    def offer(op: int, reads: tuple[int, ...], made: int) -> None:
        for _ in range(4):
            inputs = tuple((t, r.randrange(layouts)) for t in reads)
            made_pair = (made, r.randrange(layouts))
            candidates.append(Candidate(op, r.randint(1, 100), inputs, (made_pair,)))

    offer(0, (0,), first)
    ways = [range(first + 1, first + length), range(first + length, last)]
    for way in ways:
        before = first
        for tensor in way:
            offer(tensor, (before,), tensor)
            before = tensor
    offer(meeting, (ways[0][-1], ways[1][-1]), meeting)
    conversions = tuple(
        Conversion(t, a, b, r.randint(1, 40))
        for t in range(2, meeting + 1)
        for a, b in itertools.permutations(range(layouts), 2)
    )
    given = frozenset((0, layout) for layout in range(layouts))
    shared = tuple(  # two readers of one tensor: they need no conversion, so they share none
        Conversion(first, a, b, 0) for a, b in itertools.permutations(range(layouts), 2)
    )
    return Problem(
        meeting + 1, given, (Demand(meeting, (0,)),), tuple(candidates), (*shared, *conversions)
    )


@pytest.mark.parametrize("seed", range(12))
def test_pbqp_folds_ways_that_meet_again_without_loss(seed: int) -> None:
    problem = branching(seed)
    found = solve(problem, Search.PBQP)
    assert check(problem, found) == []
    assert found.objective_ns == solve(problem).objective_ns
    assert found.status is Status.FEASIBLE


def test_pbqp_is_no_worse_than_greedy_where_conversions_are_shared() -> None:
    for problem in (CHAIN, CIRCLE, TWICE, BUDGET, shortsighted()):
        greedy, found = (solve(problem, s).objective_ns for s in (Search.GREEDY, Search.PBQP))
        assert greedy is not None
        assert found is not None
        assert found <= greedy
    assert solve(shortsighted(), Search.PBQP).objective_ns == 101


@pytest.mark.parametrize("seed", range(6))
def test_no_single_substitution_makes_what_pbqp_found_cheaper(seed: int) -> None:
    """Also where two readers share conversions, which its pairs of nodes can't say."""
    problem = branching(seed)
    halved = tuple(replace(c, cost_ns=c.cost_ns // 2) for c in problem.conversions)
    problem = replace(problem, conversions=halved, demanded=(*problem.demanded, Demand(2, (1,))))
    found = solve_pbqp(problem)
    assert found.objective_ns is not None
    tables = Derivability(problem)
    choice = with_makers(tables, (None,) * problem.tensors, found.candidates)
    others = [price(tables, other) for other in substitutes(tables, choice)]
    assert all(found.objective_ns <= other.cost_ns for other in others if other is not None)


def test_pbqp_without_time_gives_what_its_nodes_were_decided_by() -> None:
    found = solve_pbqp(shortsighted(), time_limit_s=0.0)
    assert found.stop_reason is StopReason.TIME_LIMIT
    assert check(shortsighted(), found) == []


def test_without_time_the_program_gives_the_answer_of_the_best_heuristic() -> None:
    better = 0
    for seed in range(12):
        problem = branching(seed)
        pbqp, greedy = solve(problem, Search.PBQP), solve(problem, Search.GREEDY)
        hasty = solve(problem, Search.ILP, 0.0)
        assert pbqp.objective_ns is not None
        assert greedy.objective_ns is not None
        better += pbqp.objective_ns < greedy.objective_ns
        assert hasty.objective_ns == pbqp.objective_ns
        assert hasty.stop_reason is StopReason.TIME_LIMIT
        assert check(problem, hasty) == []
    assert better


def test_taso_stops_at_the_time_limit_with_the_greedy_answer() -> None:
    found = solve_taso(CHAIN, time_limit_s=0.0)
    assert (found.status, found.stop_reason) == (Status.FEASIBLE, StopReason.TIME_LIMIT)
    assert found.objective_ns == solve(CHAIN, Search.GREEDY).objective_ns


def test_taso_orders_choices_of_one_cost() -> None:
    """Choices hold numbers and None, which do not compare."""
    problem = Problem(
        tensors=3,
        given=frozenset(),
        demanded=(Demand(0, (0,)),),
        candidates=(
            Candidate(0, 0, (), ((0, 0), (2, 0))),
            Candidate(0, 0, (), ((0, 0),)),
            Candidate(0, 100_003, (), ((1, 0), (2, 0))),
        ),
        conversions=(),
    )
    assert solve(problem, Search.TASO).objective_ns == 0
