"""How far a right implementation may be from the exact result, element by element.

Each value carries a bound of its absolute error, which every op hands on and adds to (running
error analysis: N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 3.3). What an
op computes exactly adds nothing, for any type: small integers in f32 or bf16 have to come out
bit for bit. Where any result is right, the bound is infinite.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.scalar import ScalarOp
from layoutopt.ir.types import Array
from layoutopt.oracle.precision import (
    computed_in,
    largest,
    real_part,
    rounds,
    smallest_normal,
    unit_roundoff,
)
from layoutopt.oracle.scalar import Computed, compute
from layoutopt.oracle.wide import rounded

_APPROXIMATION = 64
"""Roundings that an approximated function (exp, tanh, ...) may be off by: IREE expands many into
several ops of the same type."""
_ARGUMENT = 4
"""Roundings of f32 that its argument may be off by: what argument reduction costs."""
_COMPLEX_ARGUMENT = 32
"""The same of complex functions, which go through logarithm, sine and cosine of the parts."""
_PERIODIC = ("sin", "cos", "tan", "sincos")
_LARGEST_ANGLE = 1e5
"""Beyond it a period is no longer found."""
_RELATIVE_TO_ONE = ("asinh", "acosh", "atanh", "sinh")
"""Through logarithms and exponentials, which lie near one where the result is near zero."""
_SQUARED = ("asinh", "acosh", "atanh", "cbrt")
"""Nothing is known where squares overflow, nor at infinities."""
_TWO_ARGUMENTS = ("atan2", "powf")
"""Nothing is known of them at infinities and what counts as one, and of whole powers of negative
numbers: implementations go by the logarithm."""
_LARGEST_POWER = 1e9
_SPREAD = 10.0
"""Standard deviations of a sum's rounding error; beyond n roundings nothing can be off."""
_GRID = 2.0**20
"""Most numbers that sums are tried on are multiples of its inverse."""
_FLUSHED = smallest_normal("f32")
"""Smaller numbers may be taken for zero."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value in the widest type of its kind, and a bound of its error; None where it is exact."""

    value: Array
    error: Array | None = None


Operands = Sequence[Bounded]
Rule = Callable[[Operands, Computed], Array]


def error_of(
    op: ScalarOp, kinds: Sequence[str], operands: Operands, found: Computed
) -> Array | None:
    """The bound behind an op; ``found`` is its exact result before rounding."""
    whole = not any(map(rounds, (op.type, *kinds)))
    if whole and found.undefined is None and all(o.error is None for o in operands):
        return None
    name = op.name.rpartition(".")[2]
    exactly = _EXACT_COMPLEX if op.name.startswith("complex.") else _EXACTLY_ROUNDED
    approximate = rounds(op.type) and name not in exactly
    slack = 0
    if approximate:
        slack = _COMPLEX_ARGUMENT if op.name.startswith("complex.") else _ARGUMENT
    operands = [as_read(o, kind, slack) for o, kind in zip(operands, kinds, strict=True)]
    with np.errstate(all="ignore"):
        parts = [_propagated(op, name, kinds, operands, found)]
        if rounds(op.type):
            parts.append(rounding_error(found.exact, op.type))
            if approximate:
                parts.append(_approximation(name, op.type, operands, found))
        if found.undefined is not None:
            parts.append(np.where(found.undefined, np.inf, 0.0))
        return total(*parts)


def _approximation(name: str, element: str, operands: Operands, found: Computed) -> Array:
    """What implementations of a function that no processor has may be off by."""
    size = _size(found.exact)
    relative = np.where(np.isfinite(size), size, 0.0)
    if name in _RELATIVE_TO_ONE:
        relative = np.maximum(relative, 1.0)
    error = _APPROXIMATION * unit_roundoff(element) * relative
    argument = _size(operands[0].value)
    if name in _PERIODIC:
        error = np.where(argument > _LARGEST_ANGLE, np.inf, error)
    if name in _SQUARED:
        overflows = argument * argument > largest(computed_in(real_part(element))) / 2
        error = np.where(overflows, np.inf, error)
    if name in _TWO_ARGUMENTS:
        other = operands[1].value
        special = ~(np.maximum(argument, _size(other)) < _LARGEST_POWER)
        special = special | ((operands[0].value < 0) & (other == np.rint(other)))
        error = np.where(special, np.inf, error)
    return np.asarray(error)


def total(*errors: Array | None) -> Array | None:
    """The sum of bounds; None where it is zero everywhere."""
    known = [e for e in errors if e is not None]
    if not known:
        return None
    with np.errstate(all="ignore"):
        error = np.asarray(sum(known[1:], known[0]), np.float64)
    if not error.any():
        return None
    return np.where(np.isnan(error), np.inf, error)


def rounding_error(exact: Array, element: str) -> Array | None:
    """What rounding to a type adds: nothing where it holds the number.

    Twice the unit roundoff: the oracle rounds too, and may have gone the other way.
    """
    with np.errstate(all="ignore"):
        held = rounded(exact, element)
        narrow = computed_in(element)
        held = held if narrow == element else rounded(exact, narrow)
        if np.array_equal(held, exact):
            return None
        error = np.where(held == exact, 0.0, 2 * unit_roundoff(element) * _size(exact))
        error = np.where((error > 0) & (_size(exact) < _FLUSHED), _FLUSHED, error)
        error = np.where(np.isfinite(exact), error, 0.0)
        error = np.where(np.isfinite(exact) & ~np.isfinite(held), np.inf, error)
    return error if error.any() else None


def sum_error(
    sizes: Array, quantum: float, count: int, element: str, errors: Array | None
) -> Array | None:
    """The bound of a sum of ``count`` numbers in any order.

    ``sizes``: the sums of their magnitudes. ``quantum``: a power of two that divides all of them;
    a sum of so few of it that the type counts them is exact. ``errors``: the sum of their bounds.
    """
    if not rounds(element):
        return errors
    unit = unit_roundoff(element)
    with np.errstate(all="ignore"):
        reached = sizes if errors is None else sizes + errors
        # of a type with few digits a long sum stagnates: its roundings do not cancel
        cancels = unit <= unit_roundoff("f32")
        roundings = min(count, _SPREAD * math.sqrt(count)) if cancels else count
        inexact = roundings * unit * reached
        exact = sizes * unit <= quantum / 2 if errors is None else np.zeros_like(sizes, np.bool_)
        error = np.where(exact, 0.0, inexact)
        error = np.where(reached > largest(computed_in(real_part(element))), np.inf, error)
        error = np.where(np.isfinite(sizes), error, 0.0)  # infinities add up in any order
    return total(error, errors)


def quantum_of(array: Array) -> float:
    """The largest power of two that divides all numbers: inf for zeros, 0 where some are none."""
    if array.dtype.kind == "c":
        return min(quantum_of(array.real), quantum_of(array.imag))
    with np.errstate(all="ignore"):
        scaled = array * _GRID
        whole = scaled.astype(np.int64)
    if np.array_equal(whole, scaled):
        digits = int(np.bitwise_or.reduce(whole, axis=None))
        return (digits & -digits) / _GRID if digits else math.inf
    numbers = array[array != 0].astype(np.float64)
    if not np.isfinite(numbers).all():
        return 0.0
    fraction, exponent = np.frexp(numbers)
    digits = np.ldexp(fraction, 53).astype(np.int64)
    return float(np.ldexp((digits & -digits).astype(np.float64), exponent - 53).min())


def _size(array: Array) -> Array:
    return np.abs(array).astype(np.float64, copy=False)


def as_read(operand: Bounded, kind: str, slack: int = 0) -> Bounded:
    """An operand as an implementation may take it: off by some roundings, or flushed to zero."""
    if not rounds(kind):
        return operand
    size = _size(operand.value)
    tiny = size < _FLUSHED
    tiny &= size > 0
    flushed = np.where(tiny, size, 0.0) if tiny.any() else None
    reduced = None
    if slack:
        reduced = np.where(np.isfinite(size), slack * unit_roundoff("f32") * size, 0.0)
    return Bounded(operand.value, total(operand.error, flushed, reduced))


def _propagated(
    op: ScalarOp, name: str, kinds: Sequence[str], operands: Operands, found: Computed
) -> Array | None:
    if all(o.error is None for o in operands):
        return None
    if name in _RULES:
        return _RULES[name](operands, found)
    if any(map(rounds, kinds)) and name != "bitcast":
        return _at_corners(op, kinds, operands, found)
    return np.where(sum(_error(o) for o in operands) > 0, np.inf, 0.0)


def _error(operand: Bounded) -> Array:
    return np.zeros(()) if operand.error is None else operand.error


def _times(value: Array, error: Array) -> Array:
    """``|value| * error``, where an exact zero error stays zero beside infinities."""
    return np.where(error == 0, 0.0, _size(value) * error)


def _sum(operands: Operands, found: Computed) -> Array:
    return np.asarray(sum(map(_error, operands)))


def _largest_of(operands: Operands, found: Computed) -> Array:
    return np.maximum(_error(operands[0]), _error(operands[1]))


def _product(operands: Operands, found: Computed) -> Array:
    a, b = operands[:2]
    ea, eb = _error(a), _error(b)
    own = _times(a.value, eb) + _times(b.value, ea) + ea * eb
    return np.asarray(own + _error(operands[2]) if len(operands) > 2 else own)


def _quotient(operands: Operands, found: Computed) -> Array:
    a, b = operands
    left = _size(b.value) - _error(b)
    error = (_error(a) + _times(found.exact, _error(b))) / np.where(left > 0, left, 1.0)
    exact = (_error(a) == 0) & (_error(b) == 0)
    return np.where(exact, 0.0, np.where(left > 0, error, np.inf))


def _comparison(operands: Operands, found: Computed) -> Array:
    a, b = operands
    reach = _error(a) + _error(b)
    return np.where((reach > 0) & ~(_size(a.value - b.value) > reach), 1.0, 0.0)


def _select(operands: Operands, found: Computed) -> Array:
    condition, a, b = operands
    taken = np.where(condition.value != 0, _error(a), _error(b))
    either = _size(a.value - b.value) + np.maximum(_error(a), _error(b))
    return np.where(_error(condition) > 0, either, taken)


def _at_corners(
    op: ScalarOp, kinds: Sequence[str], operands: Operands, found: Computed
) -> Array:  # fmt: skip
    """How far the result moves where the operands are at the ends of their ranges."""
    ends = []
    for operand in operands:
        value, error = operand.value, operand.error
        if error is None:
            ends.append([value])
        elif value.dtype.kind == "c":
            ends.append([value + error, value - error, value + 1j * error, value - 1j * error])
        elif value.dtype.kind == "i":
            whole = np.where(np.isfinite(error), np.ceil(error), 0).astype(np.int64)
            ends.append([value + whole, value - whole])
        else:
            ends.append([value + error, value - error])
    worst = np.zeros(found.exact.shape)
    for corner in itertools.product(*ends):
        there = compute(op, corner, kinds)
        assert there is not None
        moved = np.where(_equal(there.exact, found.exact), 0.0, _size(there.exact - found.exact))
        if there.undefined is not None:
            moved = np.where(there.undefined, np.inf, moved)
        worst = np.maximum(worst, np.where(np.isnan(moved), np.inf, moved))
    unknown = np.isinf(_sum(operands, found))
    return np.asarray(np.where(unknown, np.inf, worst))


def _equal(a: Array, b: Array) -> Array:
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("addf", "subf", "addi", "subi", "add", "sub", "create"), _sum),
    **dict.fromkeys(("mulf", "muli", "mul", "fma"), _product),
    **dict.fromkeys(("divf", "div"), _quotient),
    **dict.fromkeys(("cmpf", "cmpi", "cmp", "eq", "neq"), _comparison),
    **dict.fromkeys(
        ("negf", "absf", "extf", "truncf", "convertf", "extsi", "trunci", "index_cast", "casts"),
        _sum,
    ),
    **dict.fromkeys(("sitofp", "re", "im", "conj", "neg", "abs", "absi"), _sum),
    **dict.fromkeys(("maximumf", "minimumf", "maxnumf", "minnumf"), _largest_of),
    **dict.fromkeys(("maximumnumf", "minimumnumf", "maxsi", "minsi"), _largest_of),
    "select": _select,
}
_EXACTLY_ROUNDED = {
    *("addf", "subf", "mulf", "divf", "remf", "negf", "absf", "sqrt", "fma", "clampf", "copysign"),
    *("maximumf", "minimumf", "maxnumf", "minnumf", "maximumnumf", "minimumnumf"),
    *("ceil", "floor", "trunc", "round", "roundeven", "extf", "truncf", "convertf", "sitofp"),
    *("uitofp", "select", "bitcast", "constant", "flush_denormals"),
    *("scaling_extf", "scaling_truncf"),
}
"""Ops that compute the nearest number of their type."""
_EXACT_COMPLEX = {"add", "sub", "neg", "conj", "re", "im", "create", "constant"}
