"""Rows that keep fractions from being used twice."""

from layoutopt.solver import Candidate, Demand, Problem, Status, solve_ilp
from layoutopt.solver.derivability import Derivability
from layoutopt.solver.flow import build
from layoutopt.solver.landmarks import landmarks
from layoutopt.solver.reduce import reduce

MET_AGAIN = Problem(
    # tensor 1 dearly from 0, or for nothing from 2; 2 more dearly from 0; 3 and 4 for nothing from
    # either: a half of 2 makes a half of 1, and the two halves make 3 and 4
    tensors=5,
    given=frozenset({(0, 0)}),
    demanded=(Demand(3, (0,)), Demand(4, (0,))),
    candidates=(
        Candidate(0, 70, ((0, 0),), ((1, 0),)),
        Candidate(1, 100, ((0, 0),), ((2, 0),)),
        Candidate(2, 0, ((2, 0),), ((1, 0),)),
        Candidate(3, 0, ((1, 0),), ((3, 0),)),
        Candidate(3, 1, ((2, 0),), ((3, 0),)),
        Candidate(4, 0, ((1, 0),), ((4, 0),)),
        Candidate(4, 1, ((2, 0),), ((4, 0),)),
    ),
    conversions=(),
)  # optimum: candidates 0, 3 and 5: 70 ns


def test_halves_that_meet_again_are_a_whole() -> None:
    reduced = reduce(MET_AGAIN)
    assert reduced is not None
    flow, tables = build(reduced.problem), Derivability(reduced.problem)
    relaxed = flow.program.relax(10)
    assert relaxed is not None
    assert 50 <= relaxed.bound < 52
    for terms in landmarks(tables, flow, relaxed.values):
        flow.program.at_most(terms, 0)
    tight = flow.program.relax(10)
    assert tight is not None
    assert tight.bound == 70
    assert landmarks(tables, flow, tight.values) == []


def test_the_optimum_is_what_it_is() -> None:
    found = solve_ilp(MET_AGAIN)
    assert (found.status, found.objective_ns) == (Status.OPTIMAL, 70)
