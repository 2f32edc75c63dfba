"""Trip counts are given for blocks that do not tell theirs, and for no others."""

from __future__ import annotations

import pytest

from layoutopt.errors import InputError
from layoutopt.options import TripCount
from layoutopt.planning.chosen_trip_counts import chosen_trip_counts

GIVEN = (TripCount.parse("main/while.0.body=16"),)


def test_counts_are_by_name() -> None:
    unknown = ("main/while.0.condition", "main/while.0.body")
    assert chosen_trip_counts(unknown, GIVEN) == {"main/while.0.body": 16}


def test_a_block_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError) as error:
        chosen_trip_counts(("main/for.1",), GIVEN)
    assert str(error.value) == (
        "--trip-count main/while.0.body: expected one of main/for.1, but got another name; "
        "correct the option"
    )
    with pytest.raises(InputError) as error:
        chosen_trip_counts((), GIVEN)
    assert str(error.value) == (
        "--trip-count main/while.0.body: expected a block without a trip count, but got a model "
        "whose blocks all tell theirs; leave the option out"
    )


@pytest.mark.parametrize("text", ["main/for.0", "=3", "main/for.0=-1", "main/for.0=x"])
def test_what_is_not_a_trip_count_is_refused(text: str) -> None:
    with pytest.raises(InputError) as error:
        TripCount.parse(text)
    assert str(error.value) == (
        f"--trip-count: expected NAME=N such as main/while.0.body=16, but got '{text}'; "
        "correct the option"
    )
