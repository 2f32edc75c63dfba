"""Sizes that are known at run time: what is decided of them, and what is not."""

import pytest

from layoutopt.ir.size import (
    Size,
    Undecided,
    at,
    bounds,
    linear,
    nonempty,
    planned,
    solved,
    symbol,
    symbols,
)

S = symbol("s", 0, 4096, planned=128)
T = symbol("t", 1, 64, planned=32)


def test_equal_polynomials_are_equal_sizes() -> None:
    assert 2 * S + 1 == 1 + S + S
    assert S + 1 != S
    assert len({S, symbol("s", 0, 4096, planned=128), S + 0}) == 1


def test_what_cancels_is_a_number() -> None:
    assert (S + 3) - S == 3
    assert S * 0 == 0
    assert not isinstance(S - S, Size)


def test_a_symbol_of_one_number_is_that_number() -> None:
    assert symbol("u", 7, 7) == 7


def test_a_divisor_divides_the_size() -> None:
    size = symbol("u", 0, 100, divisor=16)
    assert size % 16 == 0
    assert size % 8 == 0
    assert size % 32 != 0
    assert bounds(size) == (0, 96)


def test_a_range_without_a_multiple_is_refused() -> None:
    with pytest.raises(ValueError, match="u: expected a multiple of 16 in its range, but got none"):
        symbol("u", 17, 31, divisor=16)


def test_quotients_that_come_out_even_are_sizes() -> None:
    assert (S * 768) // 64 == 12 * S
    assert (S * T * 4) // (2 * S) == 2 * T
    assert (16 * S + 5) // 16 == S


def test_other_quotients_are_kept() -> None:
    tiles = -(-S // 16)
    assert str(tiles) == "-((-s) floordiv 16)"
    assert [at(tiles * 16, {"s": n}) for n in (0, 1, 15, 16, 17)] == [0, 16, 16, 16, 32]
    assert bounds(tiles) == (0, 256)


def test_comparisons_are_decided_by_ranges() -> None:
    assert S < 4097
    assert S >= 0
    assert S + 1 > S
    assert S * T <= 64 * S
    assert T * T >= T


def test_what_ranges_leave_open_is_undecided() -> None:
    with pytest.raises(Undecided, match=r"expected to know whether s - 100 < 0"):
        _ = S < 100
    with pytest.raises(Undecided, match="expected to know whether s is zero"):
        bool(S)
    with pytest.raises(Undecided, match="expected a number, but got the size s"):
        range(S)


def test_equality_is_never_undecided() -> None:
    assert S != 128
    assert 0 not in (S, T)
    assert (1, S) == (1, S)


def test_planned_sizes_are_numbers() -> None:
    assert planned(S * 2 + T) == 288
    assert planned(5) == 5
    assert at(S + T, {"s": 3}) == 35


def test_symbols_are_found_in_quotients() -> None:
    assert [s.name for s in symbols(S // 3 + T)] == ["s", "t"]


def test_nonempty_sizes_are_at_least_one() -> None:
    assert nonempty(S) >= 1
    assert bounds(nonempty(-(-S // 8)))[0] == 1


def test_the_symbol_of_the_highest_rank_is_what_equal_sizes_say_of_it() -> None:
    s, t = symbol("s"), symbol("t")
    rank = ["s", "t"].index
    assert solved(s + 1, t + 1, rank) == (symbols(t)[0], s)
    assert solved(t + 1, s + 1, rank) == (symbols(t)[0], s)
    assert solved(2 * t, 6 * s, rank) == (symbols(t)[0], 3 * s)
    assert solved(t, s * s, rank) == (symbols(t)[0], s * s)


def test_equal_sizes_say_nothing_where_a_size_could_be_none() -> None:
    s, t = symbol("s"), symbol("t")
    rank = ["s", "t"].index
    assert solved(2 * t, 3 * s, rank) is None  # not every s
    assert solved(t + 1, s, rank) is None  # not s = 0
    assert solved(t * s, s, rank) is None
    assert solved(s, s, rank) is None


def test_a_size_of_one_symbol_is_linear() -> None:
    s, t = symbol("s"), symbol("t")
    assert linear(3 * s + 2) == (symbols(s)[0], 3, 2)
    assert linear(s * s) is None
    assert linear(s + t) is None
    assert linear(7) is None
