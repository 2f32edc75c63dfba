"""NumPy meanings of integer ops, on values that are sign-extended to int64.

Results may lie outside of the width; callers cut them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutopt.ir.types import Array

Binary = Callable[[Array, Array, int], Array]
Unary = Callable[[Array, int], Array]


def unsigned(a: Array, bits: int) -> Array:
    """The same bits as a number from zero on."""
    return a.astype(np.uint64) & np.uint64((1 << bits) - 1)


def _signed(a: Array) -> Array:
    return np.asarray(a).astype(np.int64)


def _divisor(b: Array) -> Array:
    return np.where(b == 0, np.ones_like(b), b)


def _floor(a: Array, b: Array, bits: int) -> Array:
    return np.asarray(np.floor_divide(a, _divisor(b)))


def _ceil(a: Array, b: Array, bits: int) -> Array:
    return np.asarray(_floor(a, b, bits) + (np.remainder(a, _divisor(b)) != 0))


def _truncate(a: Array, b: Array, bits: int) -> Array:
    inexact = np.remainder(a, _divisor(b)) != 0
    return np.asarray(_floor(a, b, bits) + (inexact & ((a < 0) != (b < 0))))


def _remainder(a: Array, b: Array, bits: int) -> Array:
    return np.asarray(a - b * _truncate(a, b, bits))


def _of_unsigned(function: Callable[[Array, Array], Array]) -> Binary:
    return lambda a, b, bits: _signed(function(unsigned(a, bits), unsigned(b, bits)))


def _ceil_unsigned(a: Array, b: Array) -> Array:
    b = _divisor(b)
    return np.asarray(a // b + (a % b != 0).astype(np.uint64))


def _amount(b: Array, bits: int) -> Array:
    """How far to shift: what is too far is undefined, and must not be so in NumPy."""
    amount = unsigned(b, bits)
    return np.where(amount < bits, amount, np.uint64(0))


def _shift_left(a: Array, b: Array, bits: int) -> Array:
    return _signed(unsigned(a, bits) << _amount(b, bits))


def _shift_right(a: Array, b: Array, bits: int) -> Array:
    return a >> _signed(_amount(b, bits))


def _shift_right_unsigned(a: Array, b: Array, bits: int) -> Array:
    return _signed(unsigned(a, bits) >> _amount(b, bits))


def _power(a: Array, b: Array, bits: int) -> Array:
    """By squaring, as it wraps; a negative power is zero but for bases of one and minus one."""
    a, b = np.broadcast_arrays(a, b)
    result, base, left = np.ones_like(a), a.copy(), np.maximum(b, 0)
    while left.any():
        result = np.where(left & 1, result * base, result)
        base = base * base
        left = left >> 1
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(b & 1, -1, 1), 0))
    return np.where(b < 0, inverse, result)


def _length(a: Array) -> Array:
    """How many bits it takes to write an unsigned number."""
    found = np.zeros(a.shape, np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        more = a >> np.uint64(step) != 0
        found += np.where(more, step, 0)
        a = np.where(more, a >> np.uint64(step), a)
    return found + _signed(a != 0)


def _ones(a: Array, bits: int) -> Array:
    a = unsigned(a, bits)
    counted = [(a >> np.uint64(i)) & np.uint64(1) for i in range(bits)]
    return np.asarray(np.sum(counted, axis=0, dtype=np.int64))


def _leading_zeros(a: Array, bits: int) -> Array:
    return bits - _length(unsigned(a, bits))


def _trailing_zeros(a: Array, bits: int) -> Array:
    a = unsigned(a, bits)
    lowest = a & (~a + np.uint64(1))
    return np.where(a == 0, bits, _length(lowest) - 1)


BINARY: dict[str, Binary] = {
    "addi": lambda a, b, bits: a + b,
    "subi": lambda a, b, bits: a - b,
    "muli": lambda a, b, bits: a * b,
    "divsi": _truncate,
    "floordivsi": _floor,
    "ceildivsi": _ceil,
    "remsi": _remainder,
    "divui": _of_unsigned(lambda a, b: a // _divisor(b)),
    "ceildivui": _of_unsigned(_ceil_unsigned),
    "remui": _of_unsigned(lambda a, b: a % _divisor(b)),
    "andi": lambda a, b, bits: a & b,
    "ori": lambda a, b, bits: a | b,
    "xori": lambda a, b, bits: a ^ b,
    "shli": _shift_left,
    "shrsi": _shift_right,
    "shrui": _shift_right_unsigned,
    "maxsi": lambda a, b, bits: np.maximum(a, b),
    "minsi": lambda a, b, bits: np.minimum(a, b),
    "maxui": _of_unsigned(np.maximum),
    "minui": _of_unsigned(np.minimum),
    "ipowi": _power,
}
UNARY: dict[str, Unary] = {
    "absi": lambda a, bits: np.abs(a),
    "ctpop": _ones,
    "ctlz": _leading_zeros,
    "cttz": _trailing_zeros,
}
_COMPARISONS: tuple[Callable[[Array, Array], Array], ...] = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
)
_UNSIGNED_FROM = len(_COMPARISONS)


def compare(predicate: int, a: Array, b: Array, bits: int) -> Array:
    """``arith.cmpi`` with a predicate by number: eq, ne, slt, sle, sgt, sge, ult, ..., uge."""
    if predicate >= _UNSIGNED_FROM:
        a, b = unsigned(a, bits), unsigned(b, bits)
        predicate -= _UNSIGNED_FROM - 2
    return _COMPARISONS[predicate](a, b)


def undefined(name: str, a: Array, b: Array, bits: int) -> Array | None:
    """Where an op has no defined result: division by zero, shifts of the whole width."""
    found: Array
    if name in ("divsi", "floordivsi", "ceildivsi", "remsi"):
        found = (b == 0) | ((b == -1) & (a == -(1 << (bits - 1))))
    elif name in ("divui", "ceildivui", "remui"):
        found = np.asarray(b == 0)
    elif name in ("shli", "shrsi", "shrui"):
        found = np.asarray(unsigned(b, bits) >= bits)
    elif name == "ipowi":
        found = (a == 0) & (b < 0)
    else:
        return None
    return found
