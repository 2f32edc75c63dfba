"""How results differ from what was expected, element by element, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.types import Array
from layoutopt.verification.input_kinds import is_floating

_TIPPED = 0.05
"""Share of the integers that may be off by one where floats are rounded to them."""
_FLUSHED = {np.dtype(np.float16): 2.0**-14}
"""By type, the least number that is never taken for zero. IREE has processors flush what is less;
AVX512-FP16 does so with numbers of f16, other conversions to and from f16 keep them."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What results may differ by."""

    tolerance: float
    """Of a float, relative to its own size or, where that is larger, to the root mean square of
    the whole result: what is small because terms cancel has their rounding error."""
    spread: float = math.inf
    """The root mean square of the same over a result: errors of rounding are rarely the largest
    that is allowed, those of another computation mostly are."""
    steps: bool = False
    """Whether some integers may be off by one, since floats are rounded to them."""


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """The largest errors over all results, and the first thing that is wrong."""

    max_abs: float = 0.0
    max_rel: float = 0.0
    failure: str = ""
    tipped: int = 0
    """Integers that are off by one, where that is allowed."""


def discrepancy(
    got: Sequence[Array], expected: Sequence[Array], allowed: Allowed, reference: str
) -> Discrepancy:
    """Hold results against ``expected``, which come from ``reference``: "the original"."""
    if len(got) != len(expected):
        count = f"expected {len(expected)} results, but got {len(got)}"
        return Discrepancy(math.inf, math.inf, count)
    found = Discrepancy()
    for number, (one, other) in enumerate(zip(got, expected, strict=True)):
        result = _result(one, other, allowed, reference)
        failure = f"result {number}: {result.failure}" if result.failure else ""
        found = Discrepancy(
            max(found.max_abs, result.max_abs),
            max(found.max_rel, result.max_rel),
            found.failure or failure,
            found.tipped + result.tipped,
        )
    return found


def _result(got: Array, expected: Array, allowed: Allowed, reference: str) -> Discrepancy:
    if got.shape != expected.shape or got.dtype != expected.dtype:
        kinds = [f"{'x'.join(map(str, a.shape)) or 'scalar'} of {a.dtype}" for a in (got, expected)]
        return Discrepancy(math.inf, math.inf, f"{kinds[0]} where {reference} gives {kinds[1]}")
    if not got.size:
        return Discrepancy()
    if got.dtype.kind == "c":
        parts = (got.real, got.imag), (expected.real, expected.imag)
        return discrepancy(*parts, allowed, reference)
    if not is_floating(got.dtype):
        return _integers(got, expected, allowed, reference)
    one, other = got.astype(np.float64), expected.astype(np.float64)
    pattern = _pattern(one, other, reference)
    if pattern:
        return Discrepancy(math.inf, math.inf, pattern)
    return _floats(one, other, allowed, _FLUSHED.get(got.dtype, 0.0), reference)


def _pattern(got: Array, expected: Array, reference: str) -> str:
    """What is wrong with the places of NaN and Inf."""
    for name, mine, theirs in (
        ("NaN", np.isnan(got), np.isnan(expected)),
        ("Inf", got == np.inf, expected == np.inf),
        ("-Inf", got == -np.inf, expected == -np.inf),
    ):
        more, fewer = (int(np.count_nonzero(a & ~b)) for a, b in ((mine, theirs), (theirs, mine)))
        if more:
            return f"{name} at {more} of {got.size} elements where {reference} has none"
        if fewer:
            return f"no {name} at {fewer} of {got.size} elements where {reference} has one"
    return ""


def _floats(
    got: Array, expected: Array, allowed: Allowed, flushed: float, reference: str
) -> Discrepancy:
    """``flushed``: what results may be off by since less than that may count as zero."""
    finite = np.isfinite(expected)
    if not finite.any():
        return Discrepancy()
    got, expected = got[finite], expected[finite]
    errors = np.abs(got - expected)
    errors[errors <= flushed] = 0.0
    typical = _root_mean_square(expected)
    scale = np.maximum(np.abs(expected), typical)
    relative = np.divide(errors, scale, out=errors.copy(), where=scale > 0)
    worst, spread = float(relative.max()), _root_mean_square(relative)
    largest = float(errors.max())
    if worst > allowed.tolerance:
        count = int(np.count_nonzero(relative > allowed.tolerance))
        at = int(relative.argmax())
        text = (
            f"{count} of {got.size} elements are off by more than {allowed.tolerance:.2g} of their "
            f"size: {got[at]:.4g} where {reference} has {expected[at]:.4g}"
        )
        return Discrepancy(largest, worst, text)
    if spread > allowed.spread:
        text = f"elements are off by {spread:.2g} of their size on average"
        return Discrepancy(largest, worst, text)
    return Discrepancy(largest, worst)


def _integers(got: Array, expected: Array, allowed: Allowed, reference: str) -> Discrepancy:
    wrong = got != expected
    count = int(np.count_nonzero(wrong))
    if not count:
        return Discrepancy()
    if got.dtype.kind == "b":
        return Discrepancy(1.0, 1.0, f"{count} of {got.size} booleans differ from {reference}")
    most = float(np.max(np.abs(got[wrong].astype(np.float64) - expected[wrong])))
    if allowed.steps and most == 1 and count <= max(1, _TIPPED * got.size):
        return Discrepancy(1.0, tipped=count)
    text = f"{count} of {got.size} integers differ from {reference}, by {most:g} at most"
    return Discrepancy(most, math.inf, text)


def _root_mean_square(array: Array) -> float:
    return float(np.sqrt(np.mean(np.square(array)))) if array.size else 0.0
