"""Tiles that deserve a price though others like them were slow."""

from __future__ import annotations

import math

import pytest

from layoutopt.planning.doubts import doubted
from layoutopt.pricing.learned import Described


def described(loops: str, tile: str) -> Described:
    return Described((None, None, None, loops, (loops, tile)), (0.0,), 1.0)


WORK = [
    described("panels", "8x32"),
    described("panels", "4x64"),
    described("columns", "8x32"),
    described("im2col", "8x32"),
    described("as it came", ""),
]
USUAL = [100.0, 150.0, 110.0, 130.0, 90.0]
HERE = [{"here"}] * len(WORK)


def found(told: set[int], least_ns: float = 50.0) -> list[bool]:
    return [bool(each) for each in doubted(WORK, HERE, told, USUAL, least_ns)]


def test_a_second_tile_is_looked_at_however_bad_it_seems() -> None:
    assert found({0}) == [True, True, False, False, False]
    assert found({1}) == [True, True, False, False, False]


def test_two_tiles_tell_of_the_others() -> None:
    assert found({0, 1})[:2] == [False, False]


def test_a_first_tile_is_looked_at_where_it_is_almost_as_fast() -> None:
    """Within 1.15 of the fastest, which takes 90."""
    usual = [100.0, 150.0, 103.0, 130.0, 90.0]
    assert list(doubted(WORK, HERE, {0, 1}, usual, 50.0)) == [False, False, True, False, False]


@pytest.mark.parametrize(("least_ns", "expected"), [(90.0, True), (91.0, False), (math.inf, False)])
def test_only_what_takes_a_large_share(least_ns: float, expected: bool) -> None:
    """By what the place takes at its fastest, not by what a slow tile would."""
    assert found({0}, least_ns)[1] is expected


def test_the_places_that_one_piece_serves_count_together() -> None:
    both = [{"here", "there"}] * len(WORK)
    assert list(doubted(WORK, both, {0}, USUAL, 180.0))[1]
    assert not list(doubted(WORK, HERE, {0}, USUAL, 180.0))[1]
