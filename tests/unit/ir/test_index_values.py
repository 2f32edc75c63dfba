"""Quotients and remainders of places: no op where loops tell them, and the right ones elsewhere."""

from __future__ import annotations

import itertools

import pytest

from layoutopt.ir.index_values import IndexValues
from layoutopt.ir.size import symbol


def value_of(values: IndexValues, number: int, loops: tuple[int, ...]) -> int:
    """What a value is at a point."""
    op = values.ops[number]
    if op.name == "linalg.index":
        return loops[int(op.attribute("dim"))]
    if op.name == "arith.constant":
        return int(op.attribute("value").split()[0])
    a, b = (value_of(values, o, loops) for o in op.operands)
    made = {"addi": a + b, "muli": a * b, "divui": a // max(b, 1), "remui": a % max(b, 1)}
    return made[op.name.removeprefix("arith.")]


@pytest.mark.parametrize(
    ("loops", "size", "divides"),
    [
        ((2, 2, 16), 32, False),  # of two loops together
        ((2, 32), 16, True),  # of a part of the inner loop: the loop has to be split
        ((4, 16), 16, False),
        ((4, 16), 64, False),
        ((3, 2, 2, 8), 16, False),
        ((3, 2, 2, 8), 32, False),
        ((4, 6), 4, True),  # neither divides the other
        ((4, 16), 32, True),  # of a part of the outer loop
    ],
)
def test_parts_of_places_are_loops_where_they_can_be(
    loops: tuple[int, ...], size: int, divides: bool
) -> None:
    values = IndexValues(loops)
    place = values.loop(0)
    for dim, own in enumerate(loops[1:], start=1):
        place = values.part_of(place, own, values.loop(dim))
    quotient, remainder = values.parts(place, size)
    for point in itertools.product(*map(range, loops)):
        found = divmod(value_of(values, place, point), size)
        assert (
            value_of(values, quotient, point),
            value_of(values, remainder, point),
        ) == found
    assert any("div" in op.name for op in values.ops) == divides


def test_sizes_known_at_run_time_divide_themselves_alone() -> None:
    size = symbol("n", planned=8)
    values = IndexValues((3, size))
    outer, inner = values.loop(0), values.loop(1)
    place = values.part_of(outer, size, inner)
    assert values.parts(place, size) == (outer, inner)
    assert values.parts(values.times(outer, size), size) == (outer, values.number(0))
    values.parts(place, 4)
    assert any("div" in op.name for op in values.ops)
