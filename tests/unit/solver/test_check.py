"""Planted failures: each kind of wrong answer is named."""

from dataclasses import replace

import pytest

from layoutopt.solver import Problem, Solution, Status, check, solve
from layoutopt.solver.solution import StopReason, answer, no_answer
from tests.unit.solver.small import BUDGET, CHAIN, CIRCLE, TWICE


def claimed(
    candidates: tuple[int, ...], conversions: tuple[int, ...], objective_ns: int
) -> Solution:
    return answer(candidates, conversions, objective_ns, objective_ns, 0.0, StopReason.PROVED)


@pytest.mark.parametrize("problem", [CHAIN, CIRCLE, TWICE, BUDGET])
def test_a_right_answer_is_clean(problem: Problem) -> None:
    assert check(problem, solve(problem)) == []


@pytest.mark.parametrize(
    ("problem", "solution", "complaint"),
    [
        (CHAIN, claimed((1, 9), (), 0), "candidate 9: there are only 4"),
        (CHAIN, claimed((0, 2), (-1,), 0), "conversion -1: there are only 3"),
        (CHAIN, claimed((2, 0), (), 110), "candidates: not ascending, or one twice"),
        (CHAIN, claimed((0, 0, 2), (), 210), "candidates: not ascending, or one twice"),
        (CHAIN, claimed((1, 2), (1,), 80), "candidate 1: tensor 0 is not there in layout 1"),
        (CHAIN, claimed((0, 3), (2,), 130), "candidate 3: tensor 1 is not there in layout 1"),
        (CHAIN, claimed((0,), (), 100), "demand 0: tensor 2 is not there in any of its layouts"),
        (CHAIN, claimed((0, 2), (1,), 140), "conversion 1: nothing makes tensor 1 in layout 1"),
        (CHAIN, claimed((0, 2), (0,), 115), "conversion 0: no demand for what it makes"),
        (CHAIN, claimed((0, 1, 2), (0,), 155), "candidate 1: no demand for what it makes"),
        (CHAIN, claimed((0, 2), (), 109), "objective: 109 ns claimed, the costs add up to 110 ns"),
        (TWICE, claimed((0, 1, 2, 3), (), 32), "tensor 1: made twice, by candidates 0 and 1"),
        (CIRCLE, claimed((0, 1), (), 2), "candidate 0: waits for itself in a circle"),
        (
            BUDGET,
            claimed((1, 3), (0, 1), 110),
            "conversions: 700 bytes, over the weight budget of 600 bytes",
        ),
        (
            CHAIN,
            replace(claimed((0, 2), (), 110), bound_ns=111),
            "bound: 111 ns is above the objective of 110 ns",
        ),
        (
            CHAIN,
            replace(claimed((0, 2), (), 110), bound_ns=75),
            "status: OPTIMAL with a bound of 75 of 110 ns",
        ),
        (
            CHAIN,
            replace(claimed((0, 2), (), 110), gap=0.5),
            "gap: 0.5 claimed, it is 0.0",
        ),
        (
            CHAIN,
            replace(no_answer(Status.INFEASIBLE, 0.0, StopReason.PROVED), candidates=(0,)),
            "solution: INFEASIBLE, but it holds an answer",
        ),
    ],
)
def test_a_wrong_answer_is_caught(problem: Problem, solution: Solution, complaint: str) -> None:
    assert complaint in check(problem, solution)


def test_a_conversion_of_a_conversion_is_caught() -> None:
    chained = claimed((0, 2), (0, 1), 0)
    problem = replace(
        CHAIN,
        conversions=(
            replace(CHAIN.conversions[0], tensor=2, source=0, target=1),
            replace(CHAIN.conversions[2], source=1, target=2),
        ),
    )
    assert "conversion 1: nothing makes tensor 2 in layout 1" in check(problem, chained)
