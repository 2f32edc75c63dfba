import pytest

from layoutopt.solver import Candidate, Conversion, Demand, Pair, Problem


def problem(
    given: frozenset[Pair] = frozenset(),
    demanded: tuple[Demand, ...] = (),
    candidates: tuple[Candidate, ...] = (),
    conversions: tuple[Conversion, ...] = (),
    budget: int | None = None,
) -> Problem:
    return Problem(2, given, demanded, candidates, conversions, budget)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Problem(-1, frozenset(), (), (), ()),
            "problem: expected a tensor count of at least 0, but got -1; correct the problem",
        ),
        (
            lambda: problem(budget=-1),
            "problem: expected a weight budget of at least 0 bytes, but got -1; "
            "correct the problem",
        ),
        (
            lambda: problem(given=frozenset({(2, 0)})),
            "given: expected a tensor in 0 .. 1, but got 2; correct the problem",
        ),
        (
            lambda: problem(demanded=(Demand(0, (0,)), Demand(1, ()))),
            "demand 1: expected at least one layout, but got none; correct the problem",
        ),
        (
            lambda: problem(demanded=(Demand(1, (-1,)),)),
            "demand 0: expected a layout of at least 0, but got -1; correct the problem",
        ),
        (
            lambda: problem(candidates=(Candidate(-1, 0, (), ((0, 0),)),)),
            "candidate 0: expected an op of at least 0, but got -1; correct the problem",
        ),
        (
            lambda: problem(candidates=(Candidate(0, -5, (), ((0, 0),)),)),
            "candidate 0: expected a cost of at least 0 ns, but got -5; correct the problem",
        ),
        (
            lambda: problem(candidates=(Candidate(0, 0, (), ()),)),
            "candidate 0: expected at least one output, but got none; correct the problem",
        ),
        (
            lambda: problem(candidates=(Candidate(0, 0, ((7, 0),), ((0, 0),)),)),
            "candidate 0: expected a tensor in 0 .. 1, but got 7; correct the problem",
        ),
        (
            lambda: problem(conversions=(Conversion(0, 1, 1, 0),)),
            "conversion 0: expected two different layouts, but got 1 twice; correct the problem",
        ),
        (
            lambda: problem(conversions=(Conversion(0, 0, 1, -1),)),
            "conversion 0: expected a cost of at least 0 ns, but got -1; correct the problem",
        ),
        (
            lambda: problem(conversions=(Conversion(0, 0, 1, 0, -1),)),
            "conversion 0: expected a size of at least 0 bytes, but got -1; correct the problem",
        ),
        (
            lambda: problem(conversions=(Conversion(0, 0, 1, 3), Conversion(0, 0, 1, 4))),
            "conversion 1: expected each conversion once, but got conversion 0 again; "
            "correct the problem",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=r".") as raised:
        build()
    assert str(raised.value) == message
