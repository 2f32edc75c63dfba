from __future__ import annotations

import math
import random

import pytest

from layoutopt.solver.program import IntegerProgram, Relaxed


def covering(pairs: list[tuple[int, int]], costs: list[int]) -> IntegerProgram:
    """The cheapest variables of which each pair has one."""
    program = IntegerProgram()
    for cost in costs:
        program.variable(cost, integer=True)
    for pair in pairs:
        program.row(1, [(place, 1) for place in pair], math.inf)
    return program


def relaxed(program: IntegerProgram) -> Relaxed:
    found = program.relax(10.0)
    assert found is not None
    return found


def test_a_relaxation_without_fractions_is_the_answer() -> None:
    program = covering([(0, 1), (1, 2)], [3, 4, 3])
    answer = program.whole(relaxed(program))
    assert answer is not None
    assert (answer.values, answer.bound) == ([0.0, 1.0, 0.0], 4.0)


def test_one_with_fractions_is_none() -> None:
    program = covering([(0, 1), (1, 2), (0, 2)], [1, 1, 1])
    found = relaxed(program)
    assert (found.bound, program.whole(found)) == (1.5, None)
    assert program.whole(None) is None
    solved = program.solve(10.0, [True] * 3)
    assert solved.values is not None
    assert (sum(solved.values), solved.bound) == (2.0, 2.0)


def test_variables_that_need_not_be_whole_may_be_fractions() -> None:
    program = IntegerProgram()
    first, second = program.variable(1, integer=True), program.variable(5)
    program.row(1, [(first, 1), (second, 1)], math.inf)
    program.row(1, [(second, 2)], math.inf)
    program.row(0, [(first, 2)], 0)
    program.row(0.75, [(second, 1)], math.inf)
    assert program.whole(relaxed(program)) is not None


@pytest.mark.parametrize("seed", range(20))
def test_rows_and_variables_that_come_later_count(seed: int) -> None:
    """As many times as they come, the relaxation is that of a program that had them at once."""
    draw = random.Random(seed)
    costs = [draw.randint(1, 9) for _ in range(12)]
    pairs = [(a, b) for a in range(12) for b in range(a) if draw.random() < 0.3]
    program = covering([], costs[:8])
    early = [pair for pair in pairs if max(pair) < 8]
    for count, pair in enumerate(early):
        program.row(1, [(place, 1) for place in pair], math.inf)
        assert relaxed(program).bound == pytest.approx(
            relaxed(covering(early[: count + 1], costs[:8])).bound
        )
    for cost in costs[8:]:
        program.variable(cost, integer=True)
    for pair in (pair for pair in pairs if max(pair) >= 8):
        program.row(1, [(place, 1) for place in pair], math.inf)
    found, whole = relaxed(program), relaxed(covering(pairs, costs))
    assert found.bound == pytest.approx(whole.bound)
    answer = program.solve(10.0, [True] * 12)
    assert answer.values is not None
    assert answer.bound >= found.bound - 1e-6


def test_without_a_solution_there_is_no_relaxation() -> None:
    program = IntegerProgram()
    only = program.variable(1, integer=True)
    program.row(2, [(only, 1)], math.inf)
    assert program.relax(10.0) is None
    assert program.solve(10.0, [True]).infeasible


def test_coefficients_that_are_not_whole_are_branched_on() -> None:
    program = covering([(0, 1), (1, 2), (0, 2)], [1, 1, 1])
    program.at_most([(0, 0.5), (1, 0.5)], 0.9)
    found = program.solve(10.0, [True] * 3)
    assert found.values is not None
    assert sum(round(value) for value in found.values) == 2
    assert found.values[0] + found.values[1] < 1.5
    assert found.bound == pytest.approx(2.0)
    assert not found.timed_out
    none = program.solve(10.0, [True, False, False])
    assert none.infeasible


def test_two_variables_of_which_one_is_taken_are_branched_on() -> None:
    """HiGHS 1.14 puts one in the other's place, and proves that nothing is below 4."""
    program = covering([], [0, 0])
    x, y = 0, 1
    program.row(1, [(x, 1), (y, 1)], 1)
    made = [program.variable(), program.variable()]
    program.row(1, [(v, 1) for v in made], math.inf)
    for chosen, v in zip((x, y), made, strict=True):
        program.at_most([(v, 1), (chosen, -1)], 0)
    share = program.variable(7)
    held = [program.variable(), program.variable()]
    for chosen, h in zip((x, y), held, strict=True):
        program.at_most([(chosen, 1), (h, -1)], 0)
    program.at_most([(held[0], 2 / 7), (held[1], 4 / 7), (share, -1)], 0)
    found = program.solve(10.0, [True] * len(program.costs))
    assert found.values is not None
    assert (found.values[x], found.values[y]) == (1.0, 0.0)
    assert found.bound == pytest.approx(2.0)


def test_a_program_without_whole_numbers_has_its_bound() -> None:
    program = IntegerProgram()
    program.variable(3)
    program.row(0.25, [(0, 0.5)], math.inf)
    assert program.solve(10.0, [True]).bound == pytest.approx(1.5)
