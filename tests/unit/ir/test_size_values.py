"""Sizes as index values: what computes them never multiplies or divides numbers below zero."""

from __future__ import annotations

import math

import pytest

from layoutopt.ir.size import Size, at, symbol
from layoutopt.ir.size_values import computed, index_text, size_lines

S, T = symbol("s"), symbol("t")
UP = -(-S // 32)
"""Tiles of 32 that hold s."""


def value(size: int, given: dict[str, int]) -> int:
    """The value of a size by the ops that are written for it."""
    if not isinstance(size, Size):
        return size
    made = computed(size)
    if made is None:
        return given[str(size)]
    op, *parts = made
    lhs, rhs = (value(part, given) for part in parts)
    if op in ("muli", "floordivsi", "ceildivsi"):
        assert lhs >= 0
        assert rhs >= 0
    return {
        "addi": lhs + rhs,
        "subi": lhs - rhs,
        "muli": lhs * rhs,
        "floordivsi": lhs // max(rhs, 1),
        "ceildivsi": math.ceil(lhs / max(rhs, 1)),
    }[op]


@pytest.mark.parametrize(
    "size",
    [UP, 32 * UP, 32 * UP - S, S - 1, 3 - S, 2 * S + 5 - T, UP * -(-T // 16), 32 * UP * T - S * T,
     S // 4 * 4, -(-(S + T) // 8) * T * 16],
    ids=str,
)  # fmt: skip
def test_no_factor_is_below_zero(size: int) -> None:
    """IREE 3.13 takes a multiple of -32 to be one of 2^64 - 32, and runs nothing."""
    for s, t in ((1, 1), (37, 64), (128, 5), (33, 200)):
        given = {"s": s, "t": t}
        assert value(size, given) == at(size, given)
    lines = size_lines([index_text(size)])
    assert lines
    assert not any("constant -" in line for line in lines)
