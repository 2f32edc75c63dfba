"""Integers that MLIR text computes."""

from __future__ import annotations

import pytest

from layoutopt.pricing.analytic.compiled.integer_text import Values, joined, take_integer

KNOWN = {"%a": 37, "%b": 8, "%yes": 1, "%no": 0}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("%x = arith.constant -7 : index", -7),
        ("%x = arith.constant true", 1),
        ("%x = arith.addi %a, %b : index", 45),
        ("%x = arith.muli %a, %b overflow<nsw> : index", 296),
        ("%x = arith.ceildivsi %a, %b : index", 5),
        ("%x = arith.floordivsi %a, %b : index", 4),
        ("%x = arith.remui %a, %b : index", 5),
        ("%x = arith.minsi %a, %b : index", 8),
        ("%x = arith.divui %a, %no : index", None),
        ("%x = arith.cmpi slt, %a, %b : index", 0),
        ("%x = arith.cmpi uge, %a, %b : index", 1),
        ("%x = arith.select %yes, %a, %unknown : index", 37),
        ("%x = arith.select %unknown, %a, %b : index", None),
        ("%x = arith.index_castui %a : index to i32", 37),
        ("%x = arith.trunci %a : i64 to i4", 5),
        ("%x = util.align %a, %b : index", 40),
        ("%x = util.assume.int %a<umin = 1, umax = 99> : index", 37),
        ("%x = iree_tensor_ext.dispatch.workload.ordinal %a, 0 : index", 37),
        ("%x = arith.addi %a, %unknown : index", None),
        ("%x = math.log %a : f32", None),
        ("%x = arith.constant 1.5 : f32", None),
    ],
)
def test_what_follows_from_known_integers(line: str, value: int | None) -> None:
    values: Values = {**KNOWN}
    take_integer(f"    {line}", values)
    assert values.get("%x") == value


def test_assumptions_may_stand_in_several_lines() -> None:
    text = """%x:2 = util.assume.int
        %b<umin = 1>,
        %a<udiv = 8>
      : index, index
    %y = arith.addi %x#0, %x#1 : index"""
    values: Values = {**KNOWN}
    for line in joined(text.splitlines()):
        take_integer(line, values)
    assert values["%y"] == KNOWN["%a"] + KNOWN["%b"]


def test_assumptions_of_several_are_told_apart() -> None:
    values: Values = {**KNOWN}
    take_integer("%x:2 = util.assume.int %a<umin = 1>, %unknown<udiv = 8> : index, index", values)
    assert (values.get("%x#0"), values.get("%x#1")) == (37, None)
