from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from layoutopt.runtime.comparison import difference
from layoutopt.runtime.element import Array


def floats(*values: float) -> Array:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("got", "expected", "reason"),
    [
        ([floats(1, 2)], [floats(1, 2)], ""),
        ([floats(1, 2.001)], [floats(1, 2)], ""),
        (
            [floats(1, 2.1)],
            [floats(1, 2)],
            "result 0: largest error 0.1 where the largest value is 2, tolerance 0.001",
        ),
        ([floats(1, np.nan)], [floats(1, np.nan)], ""),
        (
            [floats(1, np.inf)],
            [floats(1, 2)],
            "result 0: 1 of 2 values are Inf or NaN on one side only",
        ),
        ([floats(np.inf)], [floats(-np.inf)], "result 0: Inf or NaN of another kind than expected"),
        ([floats(1, 2)], [floats(1)], "result 0: expected shape (1,), but got (2,)"),
        ([floats(1)], [np.array([1])], "result 0: expected int64, but got float32"),
        ([], [floats(1)], "expected 1 results, but got 0"),
        ([floats()], [floats()], ""),
        ([floats(0.0)], [floats(0.0)], ""),
        (
            [floats(1e-9)],
            [floats(0.0)],
            "result 0: largest error 1e-09 where the largest value is 0, tolerance 0.001",
        ),
    ],
)
def test_difference(got: list[Array], expected: list[Array], reason: str) -> None:
    assert difference(got, expected, 1e-3) == reason


def test_every_element_type_can_be_compared() -> None:
    one = np.ones(3)
    for dtype in (np.bool_, np.int8, np.int64, np.float16, ml_dtypes.bfloat16):
        assert difference([one.astype(dtype)], [one.astype(dtype)], 0.0) == ""
        assert difference([one.astype(dtype)], [np.zeros(3).astype(dtype)], 0.0) != ""
