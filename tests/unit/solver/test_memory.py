"""What answers hold in memory, by hand."""

from dataclasses import replace

import pytest

from layoutopt.solver import (
    Candidate,
    Conversion,
    Demand,
    Memory,
    Place,
    Problem,
    Search,
    Status,
    held_bytes,
    least_memory,
    peak_bytes,
    solve,
    solve_ilp,
)

FAST, SLOW, READ, SLICE = range(4)
CHAIN = Problem(  # 0 -> 1 in a hurry with scratch, or slowly; a slice of 1, read later; 1 -> 3
    tensors=5,
    given=frozenset({(0, 0)}),
    demanded=(Demand(4, (0,), until=9),),
    candidates=(
        Candidate(0, 10, ((0, 0),), ((1, 0),), step=1, scratch_bytes=500),
        Candidate(0, 40, ((0, 0),), ((1, 0),), step=1),
        Candidate(1, 5, ((1, 0),), ((3, 0),), step=3),
        Candidate(2, 0, ((1, 0),), ((2, 0),), step=2, within=((1, 0),)),
        Candidate(3, 5, ((2, 0), (3, 0)), ((4, 0),), step=4),
    ),
    conversions=(),
    memory=Memory(
        (Place(100, 1), Place(50, 2), Place(30, 3), Place(7, 4)),
        {(1, 0): 0, (2, 0): 1, (3, 0): 2, (4, 0): 3},
    ),
)


def bounded(budget: int | None) -> Problem:
    return replace(CHAIN, memory=replace(CHAIN.memory, budget_bytes=budget))


def test_a_slice_holds_what_it_lies_in_and_takes_nothing() -> None:
    used = (SLOW, READ, SLICE, 4)
    assert held_bytes(CHAIN, used, ()) == {1: 100, 2: 100, 3: 130, 4: 137}
    assert held_bytes(CHAIN, (FAST, READ, SLICE, 4), ())[1] == 600
    assert peak_bytes(CHAIN, (FAST, READ, SLICE, 4), ()) == 600


@pytest.mark.parametrize(
    ("budget", "cost_ns"), [(None, 20), (600, 20), (599, 50), (137, 50), (136, None)]
)
def test_what_is_held_stays_within_the_budget(budget: int | None, cost_ns: int | None) -> None:
    found = solve_ilp(bounded(budget))
    assert found.objective_ns == cost_ns
    assert found.status is (Status.INFEASIBLE if cost_ns is None else Status.OPTIMAL)


@pytest.mark.parametrize("search", list(Search))
def test_no_search_answers_with_more(search: Search) -> None:
    for budget in (599, 136):
        found = solve(bounded(budget), search)
        if found.objective_ns is not None:
            assert peak_bytes(CHAIN, found.candidates, found.conversions) <= budget


def test_the_least_that_any_answer_holds() -> None:
    least = least_memory(CHAIN)
    assert least is not None
    assert (least.peak_bytes, least.bound_bytes) == (137, 137)
    assert SLOW in least.candidates


def test_a_conversion_is_held_beside_its_source() -> None:
    problem = Problem(
        3,
        frozenset({(0, 0)}),
        (Demand(2, (0,), until=3),),
        (
            Candidate(0, 1, ((0, 0),), ((1, 0),), step=1),
            Candidate(1, 1, ((1, 1),), ((2, 0),), step=2),
        ),
        (Conversion(1, 0, 1, 4),),
        memory=Memory((Place(10, 1), Place(12, 1), Place(3, 2)), {(1, 0): 0, (1, 1): 1, (2, 0): 2}),
    )
    assert held_bytes(problem, (0, 1), (0,)) == {1: 22, 2: 15}


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        (Memory((), {}, -1), "a memory budget of at least 0 bytes, but got -1"),
        (Memory((Place(-1, 0),), {}), "place 0: expected a size of at least 0 bytes, but got -1"),
        (Memory((), {(1, 0): 0}), "tensor 1: expected a place in 0 .. -1, but got 0"),
        (
            Memory((Place(1, 0),), {(1, 0): 0, (3, 0): 0}),
            "place 0: expected one tensor, but got 1 and 3",
        ),
        (
            Memory((Place(1, 7),), {(1, 0): 0}),
            "candidate 0: expected a step from 7 on, as of what it makes, but got 1",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(memory: Memory, said: str) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        replace(CHAIN, memory=memory)
    assert said in str(error.value)
