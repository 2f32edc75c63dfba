"""Results compared with what was expected, element by element."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from layoutopt.ir.types import Array
from layoutopt.verification.discrepancy import Allowed, Discrepancy, discrepancy

ALLOWED = Allowed(1e-3)


def compare(got: object, expected: object, allowed: Allowed = ALLOWED) -> Discrepancy:
    return discrepancy([np.asarray(got)], [np.asarray(expected)], allowed, "the original")


def test_equal_results_differ_by_nothing() -> None:
    values = [1.0, np.nan, np.inf, -np.inf, 0.0]
    assert compare(values, values) == Discrepancy()


def test_errors_are_relative_to_each_element_or_to_what_is_typical() -> None:
    """The largest element does not hide the error of the others."""
    expected = np.ones(10_000)
    expected[0] = 1e6
    got = expected.copy()
    got[1:] += 0.1
    assert compare(got[1:], expected[1:]).max_rel == pytest.approx(0.1)
    assert compare(got, expected).max_rel == pytest.approx(0.1 / 1e4, rel=1e-3)
    cancelled = np.array([1.0, -1.0, 1e-9]), np.array([1.0, -1.0, 0.0])
    assert not compare(*cancelled).failure


def test_the_first_difference_is_said_in_words() -> None:
    found = compare([1.0, 2.5, 3.0], [1.0, 2.0, 3.0])
    assert found.failure == (
        "result 0: 1 of 3 elements are off by more than 0.001 of their size: "
        "2.5 where the original has 2"
    )
    assert found.max_abs == 0.5


def test_an_error_everywhere_is_no_rounding_though_none_of_them_is_too_large() -> None:
    expected = np.ones(100)
    assert not compare(expected * 1.0009, expected).failure
    assert compare(expected * 1.0009, expected, Allowed(1e-3, 2.5e-4)).failure == (
        "result 0: elements are off by 0.0009 of their size on average"
    )


@pytest.mark.parametrize(
    ("got", "expected", "text"),
    [
        ([np.nan, 1.0], [0.5, 1.0], "NaN at 1 of 2 elements where the original has none"),
        ([0.5, 1.0], [np.nan, 1.0], "no NaN at 1 of 2 elements where the original has one"),
        ([np.inf, 1.0], [0.5, 1.0], "Inf at 1 of 2 elements where the original has none"),
        ([-np.inf, 1.0], [np.inf, 1.0], "no Inf at 1 of 2 elements where the original has one"),
        ([1.0, -np.inf], [1.0, 0.5], "-Inf at 1 of 2 elements where the original has none"),
    ],
)
def test_patterns_of_nan_and_infinity_are_named(
    got: list[float], expected: list[float], text: str
) -> None:
    found = compare(got, expected)
    assert found.failure == f"result 0: {text}"
    assert found.max_rel == math.inf


def test_integers_and_booleans_are_equal_or_wrong() -> None:
    assert not compare([1, 2], [1, 2]).failure
    assert compare([1, 2, 7], [1, 2, 3]).failure == (
        "result 0: 1 of 3 integers differ from the original, by 4 at most"
    )
    assert compare([True, False], [True, True]).failure == (
        "result 0: 1 of 2 booleans differ from the original"
    )


def test_a_few_integers_may_be_off_by_one_where_floats_are_rounded_to_them() -> None:
    expected = np.arange(100, dtype=np.int8)
    got = expected.copy()
    got[3] += 1
    steps = Allowed(1e-3, steps=True)
    assert compare(got, expected).failure
    assert compare(got, expected, steps) == Discrepancy(1.0, tipped=1)
    got[5] += 2
    assert "by 2 at most" in compare(got, expected, steps).failure
    assert "100 of 100 integers" in compare(expected + np.int8(1), expected, steps).failure


def test_narrow_and_complex_types() -> None:
    one = np.array([1.0, 2.0]).astype(ml_dtypes.bfloat16)
    other = np.array([1.0, 2.125]).astype(ml_dtypes.bfloat16)
    assert not compare(one, one).failure
    assert "2.125 where the original has 2" in compare(other, one).failure
    assert not compare(np.array([1 + 2j]), np.array([1 + 2j])).failure
    assert compare(np.array([1 + 2j]), np.array([1 + 3j])).failure


def test_other_shapes_types_and_counts() -> None:
    text = compare(np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)).failure
    assert text == "result 0: 2x3 of float32 where the original gives 3x2 of float32"
    text = compare(np.float32(0), np.float16(0)).failure
    assert text == "result 0: scalar of float32 where the original gives scalar of float16"
    two: list[Array] = [np.zeros(1), np.zeros(1)]
    assert discrepancy(two, two[:1], ALLOWED, "").failure == "expected 1 results, but got 2"


def test_errors_of_a_zero_result_are_absolute() -> None:
    assert compare([0.25], [0.0]).max_rel == 0.25
    assert compare(np.zeros(0), np.zeros(0)) == Discrepancy()


def test_what_a_processor_takes_for_zero_is_no_error() -> None:
    """With AVX512-FP16, numbers of f16 that are less than its least normal one."""
    small = np.array([1e-4, 5e-5, -6e-5], np.float16)
    flushed = np.array([1e-4, 0, -0.0], np.float16)
    assert discrepancy([flushed], [small], Allowed(1e-3), "").failure == ""
    wide = [a.astype(np.float32) for a in (flushed, small)]
    assert discrepancy(wide[:1], wide[1:], Allowed(1e-3), "").failure
    assert discrepancy([-flushed], [small], Allowed(1e-3), "").failure
