"""Are these the numbers that were expected?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutopt.compiler.installed import quirks
from layoutopt.runtime.element import DTYPES, Array, element_name


def difference(
    got: Sequence[Array], expected: Sequence[Array], allowed: Sequence[Array] = ()
) -> str:
    """Say in one line how `got` differs from `expected`; empty where it does not.

    `allowed` holds an array for each result (or one number for all of its elements): the largest
    absolute error of each element, infinite where any value will do. Without it results are equal.
    Inf and NaN stand in the same places; arrays have the expected shape and dtype.
    """
    if len(got) != len(expected):
        return f"expected {len(expected)} results, but got {len(got)}"
    limits = allowed or [np.zeros(())] * len(expected)
    for index, (one, other, limit) in enumerate(zip(got, expected, limits, strict=True)):
        if reason := _difference(one, other, limit):
            return f"result {index}: {reason}"
    return ""


def _difference(got: Array, expected: Array, allowed: Array) -> str:
    if got.shape != expected.shape:
        return f"expected shape {expected.shape}, but got {got.shape}"
    if got.dtype not in (expected.dtype, _demoted(expected.dtype)):
        return f"expected {expected.dtype}, but got {got.dtype}"
    left, right = _wide(got), _wide(expected)
    limit = np.broadcast_to(allowed, right.shape)
    held = limit < np.inf
    for name, is_kind in (("NaN", np.isnan), ("Inf", np.isinf)):
        wrong = held & (is_kind(left) != is_kind(right))
        if wrong.any():
            where = _place(wrong)
            return (
                f"{np.count_nonzero(wrong)} of {got.size} values are {name} on one side only; "
                f"at {where}: expected {expected[where]}, but got {got[where]}"
            )
    with np.errstate(all="ignore"):
        error = np.where((left == right) | np.isnan(right), 0.0, np.abs(left - right))
    over = held & ~(error <= limit)
    if not over.any():
        return ""
    with np.errstate(all="ignore"):
        worst = np.unravel_index(int(np.argmax(np.where(over, error / limit, 0.0))), got.shape)
    where = tuple(int(i) for i in worst)
    return (
        f"{np.count_nonzero(over)} of {got.size} values are wrong; at {where}: "
        f"expected {expected[where]} within {float(limit[where]):.3g}, but got {got[where]}"
    )


def _demoted(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """What IREE gives by default in place of a wide type."""
    element = element_name(dtype)
    return DTYPES[quirks().types.demoted.get(element, element)]


def _wide(array: Array) -> Array:
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    if array.dtype.kind in "biu":
        return array.astype(np.int64)
    return array.astype(np.float64)


def _place(mask: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])
