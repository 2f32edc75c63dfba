"""Which readers share one flow, on e-graphs as rewrites make them."""

from layoutopt.solver import Candidate, Demand, Problem, solve
from layoutopt.solver.exclusive import exclusive_readers
from layoutopt.solver.exhaustive import solve_exhaustively

LAST = 9


def groups(*ops: tuple[tuple[int, ...], tuple[int, ...]], demanded: int = LAST) -> list[list[int]]:
    """Return the groups of tensor 0's readers; operations are (reads, makes)."""
    candidates = tuple(
        Candidate(op, 1, tuple((t, 0) for t in reads), tuple((t, 0) for t in makes))
        for op, (reads, makes) in enumerate(ops)
    )
    demands = tuple(Demand(t, (0,)) for t in dict.fromkeys((LAST, demanded)))
    problem = Problem(10, frozenset({(0, 0)}), demands, candidates, ())
    assert solve(problem).objective_ns == solve_exhaustively(problem).objective_ns
    return exclusive_readers(problem)[0]


def test_alternatives_share() -> None:
    assert groups(((0,), (LAST,)), ((0,), (LAST,))) == [[0, 1]]


def test_readers_that_make_different_tensors_do_not() -> None:
    assert groups(((0,), (1,)), ((0, 1), (LAST,))) == [[0], [1]]


def test_a_chain_that_feeds_an_alternative_shares_with_the_others() -> None:
    ops = (((0,), (LAST,)), ((0,), (1,)), ((1,), (2,)), ((2,), (LAST,)))
    assert groups(*ops) == [[0, 1]]


def test_two_that_feed_one_alternative_stand_apart_each_with_the_others() -> None:
    ops = (((0,), (LAST,)), ((0,), (1,)), ((0,), (2,)), ((1, 2), (LAST,)))
    assert groups(*ops) == [[0, 1], [0, 2]]


def test_one_that_feeds_two_alternatives_shares_with_the_third() -> None:
    ops = (((0,), (LAST,)), ((0,), (1,)), ((1,), (LAST,)), ((0, 1), (LAST,)))
    assert groups(*ops) == [[0, 1], [0, 3]]


def test_one_that_is_demanded_stands_alone() -> None:
    ops = (((0,), (LAST,)), ((0,), (1,)), ((1,), (LAST,)))
    assert groups(*ops, demanded=1) == [[0], [1]]


def test_one_shared_with_another_tensor_stands_alone() -> None:
    ops = (((0,), (5,)), ((0,), (1,)), ((1,), (5,)), ((1, 5), (LAST,)))
    assert groups(*ops) == [[0], [1]]


def test_alternatives_inside_an_alternative_share_with_those_outside() -> None:
    ops = (((0,), (LAST,)), ((0,), (1,)), ((0,), (2,)), ((2,), (1,)), ((1,), (LAST,)))
    assert groups(*ops) == [[0, 1, 2]]
