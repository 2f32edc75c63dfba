"""Sizes that results are compared at around the boundaries between bodies."""

from __future__ import annotations

from layoutopt.ir.size import symbol
from layoutopt.ir.size_range import SizeRange
from layoutopt.verification.input_sizes import sizes_around

S = symbol("s", 0, 4096, planned=128)
B = symbol("b", 0, 64, planned=4)
POINTS = tuple((1.0, (("s", s), ("b", b))) for s in (1, 128) for b in (1, 16))
SMALL, LARGE = SizeRange("s", None, 11), SizeRange("s", 11, None)


def around(*bodies: tuple[SizeRange, ...], shape: tuple[int, ...] = (S,)) -> list[dict[str, int]]:
    return [dict(row.values) for row in sizes_around({0: shape}, bodies, POINTS)]


def test_both_sides_of_a_boundary_are_tried() -> None:
    assert around((SMALL,), (LARGE,)) == [{"s": 10}, {"s": 11}, {"s": 12}]


def test_every_boundary_is_tried() -> None:
    found = around((SMALL,), (SizeRange("s", 11, 512),), (SizeRange("s", 512, None),))
    assert found == [{"s": n} for n in (10, 11, 12, 511, 512, 513)]


def test_other_sizes_are_those_of_the_bodies_on_both_sides() -> None:
    few, many = SizeRange("b", None, 4), SizeRange("b", 4, None)
    found = around((SMALL, few), (SMALL, many), (LARGE,), shape=(S, B))
    assert {"b": 1, "s": 11} in found
    assert {"b": 16, "s": 11} in found
    assert {"b": 4, "s": 1} in found
    assert {"b": 5, "s": 1} in found
    assert not [row for row in found if row["b"] in (4, 5) and row["s"] > 11]


def test_a_body_that_no_size_was_planned_for_is_entered_at_its_end() -> None:
    """As where a plan is given without the sizes that it was made for."""
    far = (SizeRange("b", 20, 30), SizeRange("s", 500, None))
    assert {"b": 30, "s": 501} in around(far, shape=(S, B))


def test_sizes_out_of_range_are_left_out() -> None:
    small = symbol("s", 0, 11, planned=8)
    assert around((SMALL,), (LARGE,), shape=(small,)) == [{"s": 10}, {"s": 11}]
    first = (SizeRange("s", None, 1),)
    assert around(first, shape=(small,)) == [{"s": 1}, {"s": 2}]


def test_sizes_that_a_number_divides_are_tried_in_its_steps() -> None:
    """arg0.1 is eight times a symbol: the multiples around 11 are 0, 8 and 16."""
    whole = symbol("s", 8, 4096, divisor=8, planned=128)
    assert around((SMALL,), (LARGE,), shape=(whole,)) == [{"s/8": 1}, {"s/8": 2}]
