from __future__ import annotations

import numpy as np
import pytest

from layoutopt.runtime.comparison import difference
from layoutopt.runtime.element import DTYPES, Array


def floats(*values: float) -> Array:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("got", "expected", "reason"),
    [
        ([floats(1, 2)], [floats(1, 2)], ""),
        ([floats(1, 2.0009)], [floats(1, 2)], ""),
        (
            [floats(1, 2.1)],
            [floats(1, 2)],
            "result 0: 1 of 2 values are wrong; at (1,): expected 2.0 within 0.001, "
            "but got 2.0999999046325684",
        ),
        ([floats(1, np.nan)], [floats(1, np.nan)], ""),
        (
            [floats(1, np.inf)],
            [floats(1, 2)],
            "result 0: 1 of 2 values are Inf on one side only; at (1,): expected 2.0, but got inf",
        ),
        (
            [floats(1, 2)],
            [floats(np.nan, 2)],
            "result 0: 1 of 2 values are NaN on one side only; at (0,): expected nan, but got 1.0",
        ),
        (
            [floats(np.inf)],
            [floats(-np.inf)],
            "result 0: 1 of 1 values are wrong; at (0,): expected -inf within 0.001, but got inf",
        ),
        ([floats(1, 2)], [floats(1)], "result 0: expected shape (1,), but got (2,)"),
        ([floats(1)], [np.array([1])], "result 0: expected int64, but got float32"),
        ([], [floats(1)], "expected 1 results, but got 0"),
        ([floats()], [floats()], ""),
        ([floats(0.0)], [floats(-0.0)], ""),
    ],
)
def test_difference(got: list[Array], expected: list[Array], reason: str) -> None:
    assert difference(got, expected, [np.asarray(1e-3)] * len(expected)) == reason


def test_each_element_has_a_bound_of_its_own() -> None:
    """An error that is small beside the largest number is an error all the same."""
    limit = np.array([1.0, 1e-6])
    assert difference([floats(1000.5, 1)], [floats(1000, 1)], [limit]) == ""
    assert difference([floats(1000, 1.5)], [floats(1000, 1)], [limit]) == (
        "result 0: 1 of 2 values are wrong; at (1,): expected 1.0 within 1e-06, but got 1.5"
    )


def test_an_infinite_bound_allows_anything() -> None:
    limit = np.array([np.inf, 0.0])
    assert difference([floats(np.nan, 1)], [floats(3, 1)], [limit]) == ""


def test_results_of_wide_types_come_back_narrower() -> None:
    assert difference([floats(1, 2)], [np.array([1.0, 2.0])]) == ""
    assert difference([np.zeros(2, np.complex64)], [np.zeros(2, np.complex128)]) == ""


def test_every_element_type_can_be_compared() -> None:
    one = np.ones(3)
    for dtype in DTYPES.values():
        other = (one * 2).astype(dtype) if dtype != np.bool_ else np.zeros(3, dtype)
        assert difference([one.astype(dtype)], [other]) != ""
        assert difference([one.astype(dtype)], [one.astype(dtype)]) == ""
