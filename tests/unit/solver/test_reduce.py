"""Each reduction does what it says, on a problem where it can be seen."""

from dataclasses import replace

import pytest

from layoutopt.solver import Candidate, Conversion, Demand, Problem
from layoutopt.solver.reduce import Reduced, reduce, restore
from tests.unit.solver.small import BUDGET, CHAIN


def reduced(problem: Problem) -> Reduced:
    found = reduce(problem)
    assert found is not None
    return found


def test_a_budget_that_cannot_bind_is_dropped_and_copies_are_free() -> None:
    found = reduced(replace(BUDGET, weight_budget_bytes=700))
    assert found.problem.weight_budget_bytes is None
    assert found.candidates == (1, 3)
    assert [c.inputs for c in found.problem.candidates] == [(), ()]
    assert restore(replace(BUDGET, weight_budget_bytes=700), found, (0, 1), ()) == ((1, 3), (0, 1))


def test_a_copy_over_the_budget_is_dropped() -> None:
    found = reduced(replace(BUDGET, weight_budget_bytes=350))
    assert found.problem.weight_budget_bytes is None
    assert found.candidates == (1, 2)


def test_a_given_input_is_no_longer_asked_for() -> None:
    found = reduced(CHAIN)
    assert found.problem.candidates[0].inputs == ()


def test_a_demand_that_is_given_is_met() -> None:
    found = reduced(replace(CHAIN, demanded=(Demand(0, (0,)),)))
    assert found.problem.demanded == ()
    assert found.candidates == ()


def test_what_cannot_be_computed_goes() -> None:
    found = reduced(replace(CHAIN, conversions=CHAIN.conversions[1:]))
    assert (found.candidates, found.conversions) == ((0, 2), ())


def test_what_is_not_demanded_goes() -> None:
    problem = replace(
        CHAIN,
        tensors=4,
        candidates=(*CHAIN.candidates, Candidate(2, 0, ((1, 0),), ((3, 0),))),
    )
    assert reduced(problem).candidates == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("worse", "kept"),
    [
        (Candidate(0, 41, ((0, 1),), ((1, 1),)), (0, 1, 2, 3)),
        (Candidate(0, 40, ((0, 1),), ((1, 1),)), (0, 1, 2, 3)),
        (Candidate(0, 40, ((0, 1), (3, 1)), ((1, 1),)), (0, 1, 2, 3)),
        (Candidate(0, 39, ((0, 1),), ((1, 1),)), (0, 2, 3, 4)),
        (Candidate(9, 41, ((0, 1),), ((1, 1),)), (0, 1, 2, 3)),
        (Candidate(0, 41, ((0, 1),), ((1, 1), (2, 1))), (0, 1, 2, 3, 4)),
    ],
    ids=["dearer", "equal", "needs more", "cheaper", "another op", "another tensor too"],
)
def test_a_dominated_candidate_goes(worse: Candidate, kept: tuple[int, ...]) -> None:
    problem = replace(
        CHAIN,
        tensors=4,
        given=frozenset({(0, 0), (3, 0)}),
        candidates=(*CHAIN.candidates, worse),
        conversions=(*CHAIN.conversions, Conversion(3, 0, 1, 1)),
    )
    assert reduced(problem).candidates == kept


def test_a_conversion_beaten_from_a_given_layout_goes() -> None:
    problem = replace(
        CHAIN,
        given=frozenset({(0, 0), (0, 2)}),
        conversions=(*CHAIN.conversions, Conversion(0, 2, 1, 6)),
    )
    assert reduced(problem).conversions == (0, 1, 2)


def test_an_unmet_demand_is_noticed_without_a_solver() -> None:
    assert reduce(replace(CHAIN, given=frozenset())) is None


def test_restoring_no_answer_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^restore: expected an answer, but got unmet demands"):
        restore(CHAIN, reduced(CHAIN), (), ())
