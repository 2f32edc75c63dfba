"""Are these the numbers that were expected?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutopt.runtime.element import Array


def difference(got: Sequence[Array], expected: Sequence[Array], tolerance: float) -> str:
    """Say in one line how `got` differs from `expected`; empty where it does not.

    Arrays agree where shapes and dtypes are equal, Inf and NaN stand in the same places, and the
    largest absolute error is at most `tolerance` times the largest finite expected magnitude.
    """
    if len(got) != len(expected):
        return f"expected {len(expected)} results, but got {len(got)}"
    for index, (one, other) in enumerate(zip(got, expected, strict=True)):
        if reason := _difference(one, other, tolerance):
            return f"result {index}: {reason}"
    return ""


def _difference(got: Array, expected: Array, tolerance: float) -> str:
    if got.shape != expected.shape:
        return f"expected shape {expected.shape}, but got {got.shape}"
    if got.dtype != expected.dtype:
        return f"expected {expected.dtype}, but got {got.dtype}"
    if np.array_equal(got, expected):
        return ""
    left, right = got.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(right)
    if not np.array_equal(finite, np.isfinite(left)):
        wrong = int(np.count_nonzero(finite != np.isfinite(left)))
        return f"{wrong} of {got.size} values are Inf or NaN on one side only"
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return "Inf or NaN of another kind than expected"
    scale = float(np.max(np.abs(right[finite]), initial=0.0))
    error = float(np.max(np.abs(left[finite] - right[finite]), initial=0.0))
    if error <= tolerance * scale:
        return ""
    return (
        f"largest error {error:.3g} where the largest value is {scale:.3g}, tolerance {tolerance:g}"
    )
