from dataclasses import replace

import pytest

from layoutopt.solver import Conversion
from layoutopt.solver.exhaustive import solve_exhaustively
from tests.unit.solver.small import CHAIN, CIRCLE, TWICE


def test_the_oracle_finds_what_was_worked_out_by_hand() -> None:
    found = solve_exhaustively(CHAIN)
    assert (found.candidates, found.conversions, found.objective_ns) == ((1, 3), (0, 2), 75)
    assert solve_exhaustively(CIRCLE).objective_ns == 501
    assert solve_exhaustively(TWICE).objective_ns == 35


def test_the_oracle_is_for_tiny_problems() -> None:
    problem = replace(CHAIN, conversions=tuple(Conversion(0, 0, x, 1) for x in range(1, 22)))
    message = (
        "exhaustive search: expected at most 24 candidates and conversions, but got 25; "
        "use another search"
    )
    with pytest.raises(ValueError, match=r"^exhaustive") as raised:
        solve_exhaustively(problem)
    assert str(raised.value) == message
