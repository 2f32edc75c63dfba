"""Neutral elements, and what fills up the last tiles of a padded layout with them."""

from __future__ import annotations

from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np

from layoutopt.ir.types import Array, element_of, integer_bits, is_float, numpy_dtype


class Padding(Enum):
    """What the elements hold that fill up the last tiles, by the op that they change nothing in."""

    ZERO = "zero"
    """Neutral for add."""
    ONE = "one"
    """Neutral for mul."""
    LOWEST = "lowest"
    """Neutral for max: minus infinity, or the least integer."""
    HIGHEST = "highest"
    """Neutral for min."""
    ANY = "any"
    """Undefined contents: they are never read."""

    def text(self, element: str) -> str | None:
        """The value as MLIR text, zero where any will do; None for an unknown element type."""
        floating = is_float(element)
        combiner = {
            Padding.ZERO: "addf" if floating else "xori",
            Padding.ANY: "addf" if floating else "xori",
            Padding.ONE: "mulf" if floating else "andi" if element == "i1" else "muli",
            Padding.LOWEST: "maximumf" if floating else "ori" if element == "i1" else "maxsi",
            Padding.HIGHEST: "minimumf" if floating else "andi" if element == "i1" else "minsi",
        }[self]
        return neutral(combiner, element)

    def number(self, dtype: np.dtype[Any]) -> object:
        """The value as a number; where any will do, one that spoils what reads it."""
        if self is Padding.ZERO:
            return 0
        if self is Padding.ONE:
            return 1
        if dtype.kind == "b":
            return self is not Padding.LOWEST
        integer = element_of(dtype) or ""
        if dtype.kind not in "iu" and integer_bits(integer) is None:
            spoiled = {Padding.LOWEST: -np.inf, Padding.HIGHEST: np.inf, Padding.ANY: np.nan}
            number = spoiled[self]
            return number if self is Padding.ANY or dtype.kind == "c" else _last(number, dtype)
        limits = ml_dtypes.iinfo(dtype)
        if self is Padding.ANY:
            return limits.max // 3
        return limits.min if self is Padding.LOWEST else limits.max


def neutral(combiner: str, element: str) -> str | None:
    """The element that changes nothing under an op, as MLIR text; None where it is unknown."""
    name = combiner.removeprefix("arith.")
    if is_float(element):
        dtype = np.dtype(numpy_dtype(element))
        if float(np.zeros((), dtype)) != 0:
            return None  # f8E8M0FNU has neither a zero nor signs
        low, high = _bits(_last(-np.inf, dtype)), _bits(_last(np.inf, dtype))
        known = {"addf": "0.0", "mulf": "1.0", "maximumf": low, "minimumf": high}
        with np.errstate(all="ignore"):
            nan = np.asarray(np.nan).astype(dtype)
        if np.isnan(nan.astype(np.float64)):  # maxnumf(nan, x) is x; (-inf, nan) would give -inf
            known |= {"maxnumf": _bits(nan), "minnumf": _bits(nan)}
    elif element.startswith("i") and element[1:].isdigit():
        bits = int(element[1:])
        known = {"addi": "0", "muli": "1", "ori": "0", "xori": "0", "andi": "-1"}
        known |= {"maxsi": str(-(1 << (bits - 1))), "minsi": str((1 << (bits - 1)) - 1)}
        known |= {"maxui": "0", "minui": "-1"}
        if bits == 1:
            known = {"andi": "true", "ori": "false", "xori": "false"}
    else:
        return None
    value = known.get(name)
    if value is None or value in ("true", "false"):
        return value
    return f"{value} : {element}"


def _last(infinity: float, dtype: np.dtype[Any]) -> Array:
    """An infinity, or the last number before it in types that have none."""
    limits = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        value = np.asarray(infinity).astype(dtype)
        if np.isinf(value.astype(np.float64)):
            return value
        return np.asarray(limits.max if infinity > 0 else limits.min).astype(dtype)


def _bits(value: Array) -> str:
    return f"0x{value.tobytes()[::-1].hex().upper()}"
