"""Neutral elements, and what fills up the last tiles of a padded layout with them."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from layoutopt.types import is_float

_INFINITY = {"f64": "0x7FF0000000000000", "f32": "0x7F800000", "f16": "0x7C00", "bf16": "0x7F80"}
_MINUS_INFINITY = {
    "f64": "0xFFF0000000000000",
    "f32": "0xFF800000",
    "f16": "0xFC00",
    "bf16": "0xFF80",
}
_NAN = {"f64": "0x7FF8000000000000", "f32": "0x7FC00000", "f16": "0x7E00", "bf16": "0x7FC0"}


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
    """Whatever was there: nobody may look."""

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
        """The value as a number; where any will do, one that spoils whatever reads it."""
        if self is Padding.ZERO:
            return 0
        if self is Padding.ONE:
            return 1
        if dtype.kind == "b":
            return self is not Padding.LOWEST
        if dtype.kind not in "iu":
            spoiled = {Padding.LOWEST: -np.inf, Padding.HIGHEST: np.inf, Padding.ANY: np.nan}
            return spoiled[self]
        limits = np.iinfo(dtype)
        if self is Padding.ANY:
            return limits.max // 3
        return limits.min if self is Padding.LOWEST else limits.max


def neutral(combiner: str, element: str) -> str | None:
    """The element that changes nothing under an op, as MLIR text; None where it is unknown."""
    name = combiner.removeprefix("arith.")
    if is_float(element):
        low, high = _MINUS_INFINITY[element], _INFINITY[element]
        nan = _NAN[element]  # maxnumf(nan, x) is x, while maxnumf(-inf, nan) would be -inf
        known = {"addf": "0.0", "mulf": "1.0", "maximumf": low, "maxnumf": nan}
        known |= {"minimumf": high, "minnumf": nan}
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
