"""NumPy meanings of the ops on complex numbers, in complex128."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutopt.ir.types import Array

Binary = Callable[[Array, Array], Array]
Unary = Callable[[Array], Array]


def _sign(a: Array) -> Array:
    size = np.abs(a)
    return np.where(size == 0, a, a / np.where(size == 0, 1.0, size))


def _atan2(y: Array, x: Array) -> Array:
    """``-i log((x + i y) / sqrt(x^2 + y^2))``, as the dialect defines it."""
    return np.asarray(-1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y)))


def _pair(real: Array, imaginary: Array) -> Array:
    """A sum would lose signs of zeros and make NaN of infinities."""
    real, imaginary = np.broadcast_arrays(real, imaginary)
    made = np.empty(real.shape, np.complex128)
    made.real, made.imag = real, imaginary
    return made


BINARY: dict[str, Binary] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "powi": np.power,
    "atan2": _atan2,
    "create": _pair,
    "eq": np.equal,
    "neq": np.not_equal,
}
UNARY: dict[str, Unary] = {
    "neg": np.negative,
    "conj": np.conj,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sign": _sign,
    "re": np.real,
    "im": np.imag,
    "abs": np.abs,
    "angle": np.angle,
}
