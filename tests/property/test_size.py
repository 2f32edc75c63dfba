"""Arithmetic of sizes is arithmetic of whatever numbers their symbols turn out to be."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutopt.ir.size import Undecided, at, bounds, symbol

RANGES = {"a": (0, 30), "b": (1, 9), "c": (-4, 12)}
NUMBERS = st.fixed_dictionaries({name: st.integers(*ends) for name, ends in RANGES.items()})


@st.composite
def sizes(draw: st.DrawFn) -> int:
    """Sums and products of symbols and numbers, and quotients of them."""
    leaves = [symbol(name, *ends) for name, ends in RANGES.items()]
    found = draw(st.sampled_from([*leaves, 1, 3]))
    for _ in range(draw(st.integers(0, 4))):
        other = draw(st.sampled_from([*leaves, -2, 5, 8]))
        step = draw(st.sampled_from("+-*/%"))
        if step == "+":
            found = found + other
        elif step == "-":
            found = found - other
        elif step == "*":
            found = found * other
        elif step == "/":
            found = found // draw(st.integers(1, 9))
        else:
            found = found % draw(st.integers(1, 9))
    return found


@given(sizes(), sizes(), NUMBERS, st.integers(1, 12))
def test_results_are_those_of_the_numbers(
    one: int, other: int, values: dict[str, int], number: int
) -> None:
    a, b = at(one, values), at(other, values)
    assert at(one + other, values) == a + b
    assert at(one - other, values) == a - b
    assert at(one * other, values) == a * b
    assert at(one // number, values) == a // number
    assert at(one % number, values) == a % number
    assert at(-(-one // number), values) == -(-a // number)


@given(sizes(), NUMBERS)
def test_every_value_lies_in_the_bounds(size: int, values: dict[str, int]) -> None:
    low, high = bounds(size)
    assert low <= at(size, values) <= high


@pytest.mark.parametrize(
    "compare",
    [
        lambda a, b: a < b,
        lambda a, b: a <= b,
        lambda a, b: a > b,
        lambda a, b: a >= b,
    ],
)
@given(one=sizes(), other=sizes(), values=NUMBERS)
def test_what_is_decided_holds_for_every_value(
    compare: Callable[[int, int], bool], one: int, other: int, values: dict[str, int]
) -> None:
    try:
        decided = compare(one, other)
    except Undecided:
        return
    assert decided == compare(at(one, values), at(other, values))


@given(sizes(), sizes(), NUMBERS)
def test_equal_sizes_are_equal_for_every_value(
    one: int, other: int, values: dict[str, int]
) -> None:
    if one == other:
        assert at(one, values) == at(other, values)


@given(sizes(), st.integers(1, 8), NUMBERS)
def test_exact_quotients_undo_products(size: int, factor: int, values: dict[str, int]) -> None:
    s = symbol("b", *RANGES["b"])
    assert at((size * s) // s, values) == at(size, values)
    assert (size * factor) % factor == 0
