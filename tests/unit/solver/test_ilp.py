"""The integer program on problems whose optimum is known by hand."""

import random
from dataclasses import replace

import pytest

from layoutopt.solver import (
    Candidate,
    Conversion,
    Demand,
    Problem,
    Status,
    StopReason,
    check,
    solve,
    solve_greedy,
    solve_ilp,
)
from layoutopt.solver.cycles import cuts
from layoutopt.solver.derivability import Derivability
from layoutopt.solver.flow import build
from layoutopt.solver.reduce import reduce
from tests.unit.solver.small import BUDGET, CHAIN, CIRCLE, TWICE


@pytest.mark.parametrize(
    ("problem", "candidates", "conversions", "objective_ns"),
    [
        (CHAIN, (1, 3), (0, 2), 75),
        (CIRCLE, (0, 2), (), 501),
        (TWICE, (0, 2, 3), (0,), 35),
        (BUDGET, (0, 3), (1,), 150),
    ],
)
def test_the_known_optimum(
    problem: Problem,
    candidates: tuple[int, ...],
    conversions: tuple[int, ...],
    objective_ns: int,
) -> None:
    found = solve_ilp(problem)
    assert (found.candidates, found.conversions) == (candidates, conversions)
    assert (found.objective_ns, found.bound_ns, found.gap) == (objective_ns, objective_ns, 0.0)
    assert (found.status, found.stop_reason) == (Status.OPTIMAL, "proved")


def test_a_conversion_is_shared_by_its_consumers() -> None:
    needs = ((0, 1),)
    problem = Problem(
        4,
        frozenset({(0, 0)}),
        (Demand(1, (0,)), Demand(2, (0,)), Demand(3, (0,))),
        tuple(Candidate(op, 1, needs, ((op + 1, 0),)) for op in range(3)),
        (Conversion(0, 0, 1, 50),),
    )
    assert solve_ilp(problem).objective_ns == 53


def test_any_layout_of_a_demand_will_do() -> None:
    problem = replace(CHAIN, demanded=(Demand(2, (0, 1)),))
    found = solve_ilp(problem)
    assert (found.candidates, found.conversions, found.objective_ns) == ((1, 3), (0,), 55)


def test_open_demands_share_the_layout_that_serves_them_all() -> None:
    layouts = ((1, 2), (2, 3), (1, 3), (2, 4))
    problem = Problem(
        1,
        frozenset({(0, 0)}),
        tuple(Demand(0, pair) for pair in layouts),
        (),
        tuple(Conversion(0, 0, target, 10) for target in (1, 2, 3, 4)),
    )
    found = solve_ilp(problem)
    assert (found.status, found.objective_ns) == (Status.OPTIMAL, 20)
    assert found.conversions in {(0, 1), (1, 2)}


def test_a_candidate_may_take_a_tensor_in_two_layouts() -> None:
    problem = Problem(
        2,
        frozenset({(0, 0)}),
        (Demand(1, (0,)),),
        (Candidate(0, 5, ((0, 1), (0, 2)), ((1, 0),)),),
        (Conversion(0, 0, 1, 3), Conversion(0, 0, 2, 4)),
    )
    found = solve_ilp(problem)
    assert (found.conversions, found.objective_ns) == ((0, 1), 12)


def test_the_cheaper_e_node_wins_and_the_other_stays_inactive() -> None:
    problem = Problem(
        3,
        frozenset({(0, 0)}),
        (Demand(2, (0,)),),
        (
            Candidate(0, 9, ((0, 0),), ((2, 0),)),
            Candidate(1, 3, ((0, 0),), ((1, 0),)),
            Candidate(2, 3, ((1, 0),), ((2, 0),)),
        ),
        (),
    )
    found = solve_ilp(problem)
    assert (found.candidates, found.objective_ns) == ((1, 2), 6)


def test_nothing_to_do_costs_nothing() -> None:
    found = solve_ilp(Problem(1, frozenset({(0, 0)}), (Demand(0, (0,)),), (), ()))
    assert (found.status, found.objective_ns, found.gap) == (Status.OPTIMAL, 0, 0.0)


def test_the_naive_answer_is_circular_and_a_row_forbids_it() -> None:
    reduced = reduce(CIRCLE)
    assert reduced is not None
    flow = build(reduced.problem)
    naive = flow.program.solve(10.0, [True] * len(flow.program.costs))
    assert naive.values is not None
    used = [i for i, v in enumerate(flow.candidates) if naive.values[v] > 0.5]
    assert used == [0, 1]
    tables = Derivability(reduced.problem)
    rows = cuts(tables, flow, used, [], tables.derive(used, ()))
    assert rows
    for terms in rows:
        assert sum(c * naive.values[v] for v, c in terms) > 0.5
        for right in ((0, 2), (1, 3), (2,), (3,)):
            variables = [flow.candidates[i] for i in right]
            assert sum(c for v, c in terms if v in variables) <= 0


def test_a_circle_that_a_given_pair_starts_is_allowed() -> None:
    problem = replace(  # tensor 1 is there, but in the layouts asked for it comes from tensor 2
        CIRCLE,
        given=frozenset({(1, 2)}),
        demanded=(Demand(2, (0,)), Demand(1, (1,))),
        candidates=(
            Candidate(0, 1, ((1, 0),), ((2, 0),)),
            Candidate(1, 1, ((2, 0),), ((1, 0), (1, 1))),
        ),
        conversions=(Conversion(1, 2, 0, 500),),
    )
    found = solve_ilp(problem)
    assert (found.candidates, found.conversions, found.objective_ns) == ((0, 1), (0,), 502)
    assert check(problem, found) == []


@pytest.mark.parametrize(
    "problem",
    [
        replace(CHAIN, conversions=(), candidates=CHAIN.candidates[1:]),
        replace(CIRCLE, candidates=CIRCLE.candidates[:2]),
        replace(
            BUDGET, candidates=(BUDGET.candidates[1], BUDGET.candidates[3]), weight_budget_bytes=600
        ),
    ],
    ids=["layout out of reach", "only a circle", "over the budget"],
)
def test_no_answer_is_infeasible(problem: Problem) -> None:
    found = solve(problem)
    assert (found.status, found.stop_reason) == (Status.INFEASIBLE, StopReason.PROVED)
    assert (found.objective_ns, found.gap, found.candidates) == (None, None, ())


def big() -> Problem:
    """Return a problem that no search finishes in a hundredth of a second."""
    r = random.Random(0)
    count, layouts = 400, 4
    return Problem(
        count + 1,
        frozenset({(0, 0)}),
        (Demand(count, (0,)),),
        tuple(
            Candidate(t, r.randint(1, 99), ((t, p), (max(0, t - 3), p)), ((t + 1, q),))
            for t in range(count)
            for p in range(layouts)
            for q in range(layouts)
        ),
        tuple(
            Conversion(t, p, q, r.randint(1, 50))
            for t in range(count + 1)
            for p in range(layouts)
            for q in range(layouts)
            if p != q
        ),
    )


def test_a_time_limit_without_an_answer_is_unknown() -> None:
    found = solve_ilp(big(), time_limit_s=0.0)
    assert (found.status, found.stop_reason) == (Status.UNKNOWN, StopReason.TIME_LIMIT)
    assert check(big(), found) == []


def test_a_time_limit_with_an_answer_is_feasible() -> None:
    warm = solve_greedy(big())
    found = solve_ilp(big(), time_limit_s=0.0, warm=warm)
    assert (found.status, found.stop_reason) == (Status.FEASIBLE, StopReason.TIME_LIMIT)
    assert (found.candidates, found.objective_ns) == (warm.candidates, warm.objective_ns)
    assert (found.bound_ns, found.gap) == (0, 1.0)
