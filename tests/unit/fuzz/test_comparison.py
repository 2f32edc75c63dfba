"""What counts as a difference."""

from __future__ import annotations

import numpy as np

from tests.fuzz.comparison import apart, tolerance
from tests.fuzz.kinds.shapes import multiply_add
from tests.fuzz.units import cut_into_units
from tests.fuzz.value import Value, rounded
from tests.fuzz.writer import summed


def test_whole_numbers_that_a_type_holds_are_exact() -> None:
    assert rounded("f32", 2.0**20, 0.0, True) == 0.0
    assert rounded("f16", 2.0**12, 0.0, True) > 0.0
    assert rounded("i8", 1e9, 0.0, True) == 0.0


def test_a_sum_of_products_is_exact_where_its_type_holds_it() -> None:
    x = Value("%x", (4,), "f16", 2.0)
    assert summed("f16", [x, x], 8, None, windowed=False) == (32.0, 0.0, True)
    bound, error, _ = summed("f16", [x, x], 4000, None, windowed=False)
    assert error > 2.0**-10 * bound
    assert summed("f32", [x, x], 8, None, windowed=True)[1] > 0.0


def test_nothing_but_rounding_is_allowed() -> None:
    wanted = np.asarray([1.0, np.nan, np.inf], np.float32)
    assert apart(wanted, wanted, 0.0) == ""
    found = apart(np.asarray([1.5, np.nan, np.inf], np.float32), wanted, 0.1)
    assert found == "expected 1.0 at (0,), but got 1.5 (1 of 3 differ, 0.1 allowed)"
    assert apart(wanted[:2], wanted, 1.0) == "expected shape (3,), but got (2,)"
    assert apart(wanted, wanted.astype(np.float64), 1.0) == "expected float64, but got float32"
    finite = np.asarray([1.0, 0.0, np.inf], np.float32)
    assert "expected nan at (1,), but got 0.0" in apart(finite, wanted, 1e9)


def test_an_exact_value_allows_no_difference() -> None:
    assert tolerance(Value("%x", (1,), "f32", 3.0)) == 0.0
    assert tolerance(Value("%x", (1,), "f32", 3.0, 0.5)) == 2.0


def test_bodies_widen_what_they_multiply() -> None:
    lines, arguments = multiply_add("i8", "i8", "i32")
    assert lines[0] == "%xw = arith.extsi %x : i8 to i32"
    assert arguments == ["%x: i8", "%y: i8", "%o: i32"]


def test_a_unit_takes_along_what_stands_before_it() -> None:
    text = (
        "#map = affine_map<(d0) -> (d0)>\nmodule {\n"
        "  util.global private @w : tensor<2xf32>\n"
        "  func.func private @b_helper0() {\n    return\n  }\n"
        "  func.func @b() {\n    return\n  }\n"
        "  func.func @c() {\n    return\n  }\n}\n"
    )
    head, units = cut_into_units(text, ["b", "c"])
    assert head == "#map = affine_map<(d0) -> (d0)>\n"
    assert [unit.name for unit in units] == ["b", "c"]
    assert "@w" in units[0].text
    assert "helper0" in units[0].text
    assert units[1].text == "  func.func @c() {\n    return\n  }\n"
