"""NumPy meanings of floating-point ops, on values in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from layoutopt.ir.types import Array

Binary = Callable[[Array, Array], Array]
Unary = Callable[[Array], Array]

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])
_WHOLE = 2.0**52
"""From here on a float64 has no fraction."""


def _round_away(a: Array) -> Array:
    """To the nearest whole number, halves away from zero."""
    near = np.copysign(np.floor(np.abs(a) + 0.5), a)
    return np.where(np.abs(a) < _WHOLE, near, a)


BINARY: dict[str, Binary] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "maximumnumf": np.fmax,
    "minimumnumf": np.fmin,
    "powf": np.power,
    "atan2": np.arctan2,
    "copysign": np.copysign,
}
UNARY: dict[str, Unary] = {
    "negf": np.negative,
    "absf": np.abs,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "round": _round_away,
    "erf": _erf,
    "erfc": _erfc,
}
TESTS: dict[str, Unary] = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
"""Those that tell an i1."""

# arith.cmpf predicates by number: false, then ordered, ord, then unordered, uno, true
_COMPARISONS: tuple[Callable[[Array, Array, Array], Array], ...] = (
    lambda a, b, nan: np.zeros_like(nan),
    lambda a, b, nan: (a == b) & ~nan,
    lambda a, b, nan: (a > b) & ~nan,
    lambda a, b, nan: (a >= b) & ~nan,
    lambda a, b, nan: (a < b) & ~nan,
    lambda a, b, nan: (a <= b) & ~nan,
    lambda a, b, nan: (a != b) & ~nan,
    lambda a, b, nan: ~nan,
    lambda a, b, nan: (a == b) | nan,
    lambda a, b, nan: (a > b) | nan,
    lambda a, b, nan: (a >= b) | nan,
    lambda a, b, nan: (a < b) | nan,
    lambda a, b, nan: (a <= b) | nan,
    lambda a, b, nan: (a != b) | nan,
    lambda a, b, nan: nan,
    lambda a, b, nan: np.ones_like(nan),
)


def compare(predicate: int, a: Array, b: Array) -> Array:
    """``arith.cmpf`` with a predicate by number."""
    return _COMPARISONS[predicate](a, b, np.isnan(a) | np.isnan(b))
