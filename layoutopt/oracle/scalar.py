"""What a scalar op computes, over whole arrays: the dialects arith, math, complex and index."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.scalar import ScalarOp
from layoutopt.ir.types import (
    Array,
    element_bytes,
    element_of,
    integer_bits,
    is_complex,
    is_float,
    numpy_dtype,
)
from layoutopt.oracle import complexes, floats, integers
from layoutopt.oracle.constant import constant
from layoutopt.oracle.precision import smallest_normal
from layoutopt.oracle.wide import is_known, rounded, stored, widened

CONSTANTS = ("arith.constant", "complex.constant", "index.constant", "index.bool.constant")
_INDEX = {
    "add": "addi", "sub": "subi", "mul": "muli", "and": "andi", "or": "ori", "xor": "xori",
    "shl": "shli", "shrs": "shrsi", "shru": "shrui", "divs": "divsi", "divu": "divui",
    "ceildivs": "ceildivsi", "ceildivu": "ceildivui", "floordivs": "floordivsi",
    "rems": "remsi", "remu": "remui", "maxs": "maxsi", "maxu": "maxui", "mins": "minsi",
    "minu": "minui", "casts": "index_cast", "castu": "index_castui", "cmp": "cmpi",
}  # fmt: skip
"""Ops of the index dialect, by the op of arith that means the same."""
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_SAME_VALUE = ("extf", "truncf", "convertf", "extsi", "trunci", "index_cast")
_LARGEST = 2.0**63


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of an op in the widest type of its kind, before its own type rounds it."""

    exact: Array
    undefined: Array | None = None
    """Where any result is right: division by zero, a shift by the whole width."""


def compute(op: ScalarOp, operands: Sequence[Array], kinds: Sequence[str]) -> Computed | None:
    """The op over wide arrays of the given element types; None for an op or type unknown here."""
    if not all(map(is_known, (op.type, *kinds))):
        return None
    dialect, _, name = op.name.partition(".")
    if op.name in CONSTANTS:
        value = constant(op.attribute("value"), op.type)
        return None if value is None else Computed(widened(value, op.type))
    if dialect == "index":
        if name == "sizeof":
            return Computed(np.asarray(8 * element_bytes("index"), np.int64))
        name = _INDEX.get(name, name)
    with np.errstate(all="ignore"):
        if name == "select":
            return Computed(np.where(operands[0] != 0, operands[1], operands[2]))
        if name == "bitcast":
            return _bitcast(op, operands[0], kinds[0])
        if dialect == "complex":
            return _complex(name, operands)
        if kinds and is_float(kinds[0]):
            return _float(op, name, operands, kinds[0])
        return _integer(op, name, operands, kinds)


def apply(
    op: ScalarOp, operands: Sequence[Array], kinds: Sequence[str] | None = None
) -> Array | None:
    """The op over whole arrays, in the op's own result type; None for an op unknown here.

    ``kinds``: the element types of the operands, where their NumPy types do not tell.
    """
    if kinds is None:
        named = [element_of(a.dtype) for a in operands]
        kinds = [name for name in named if name is not None]
        if len(kinds) < len(operands):
            return None
    wide = [widened(a, kind) for a, kind in zip(operands, kinds, strict=True)]
    found = compute(op, wide, kinds)
    if found is None or numpy_dtype(op.type) is None:
        return None
    return stored(rounded(found.exact, op.type), op.type)


def _truth(array: Array) -> Array:
    """A truth value as an i1."""
    return -array.astype(np.int64)


def _float(op: ScalarOp, name: str, operands: Sequence[Array], kind: str) -> Computed | None:
    a = operands[0]
    if name in floats.BINARY:
        return Computed(floats.BINARY[name](a, operands[1]))
    if name in floats.UNARY:
        return Computed(floats.UNARY[name](a))
    if name in floats.TESTS:
        return Computed(_truth(floats.TESTS[name](a)))
    if name in _SAME_VALUE:
        return Computed(a)
    rest = _FLOATS.get(name)
    if rest is not None:
        return Computed(rest(operands, kind))
    if name == "cmpf":
        return Computed(_truth(floats.compare(_predicate(op), a, operands[1])))
    if name in ("fptosi", "fptoui"):
        return _to_integer(a, integer_bits(op.type) or 0, signed=name == "fptosi")
    return None


def _normal(a: Array, kind: str) -> Array:
    return np.isfinite(a) & (np.abs(a) >= smallest_normal(kind))


_FLOATS: dict[str, Callable[[Sequence[Array], str], Array]] = {
    "fma": lambda x, kind: x[0] * x[1] + x[2],
    "clampf": lambda x, kind: np.minimum(np.maximum(x[0], x[1]), x[2]),
    "fpowi": lambda x, kind: np.power(x[0], x[1].astype(np.float64)),
    "isnormal": lambda x, kind: _truth(_normal(x[0], kind)),
    "flush_denormals": lambda x, kind: np.where(
        np.abs(x[0]) < smallest_normal(kind), np.copysign(0.0, x[0]), x[0]
    ),
    "scaling_extf": lambda x, kind: x[0] * x[1],
    "scaling_truncf": lambda x, kind: x[0] / x[1],
}


def _to_integer(a: Array, bits: int, signed: bool) -> Computed:
    whole = np.trunc(a)
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if signed else (0.0, 2.0**bits)
    outside = ~((whole >= low) & (whole < high))
    # Out of range means anything; processors go through a wider integer, and exporters rely on it.
    fits = np.abs(whole) < 2 * _LARGEST
    inside = np.where(fits, whole, 0.0)
    upper = np.where(inside >= _LARGEST, inside - 2 * _LARGEST, inside)  # the bits of a uint64
    upper = np.where(upper < -_LARGEST, 0.0, upper)
    return Computed(upper.astype(np.int64), outside)


def _integer(
    op: ScalarOp, name: str, operands: Sequence[Array], kinds: Sequence[str]
) -> Computed | None:
    a, bits = operands[0], integer_bits(kinds[0]) or 0
    if name in integers.BINARY:
        b = operands[1]
        other = integer_bits(kinds[1]) or 0
        return Computed(
            integers.BINARY[name](a, b, bits),
            integers.undefined(name, a, b, max(bits, other)),
        )
    if name in integers.UNARY:
        return Computed(integers.UNARY[name](a, bits))
    if name in _SAME_VALUE:
        return Computed(a)
    if name == "sitofp":
        return Computed(a.astype(np.float64))
    if name == "uitofp":
        return Computed(integers.unsigned(a, bits).astype(np.float64))
    if name in ("extui", "index_castui"):
        return Computed(integers.unsigned(a, bits).astype(np.int64))
    if name == "cmpi":
        return Computed(_truth(integers.compare(_predicate(op), a, operands[1], bits)))
    return None


def _complex(name: str, operands: Sequence[Array]) -> Computed | None:
    if name in complexes.BINARY:
        found = complexes.BINARY[name](operands[0], operands[1])
    elif name in complexes.UNARY:
        found = complexes.UNARY[name](operands[0])
    else:
        return None
    return Computed(_truth(found) if found.dtype == np.bool_ else found)


def _bitcast(op: ScalarOp, operand: Array, kind: str) -> Computed | None:
    source, goal = numpy_dtype(kind), numpy_dtype(op.type)
    if source is None or goal is None or source.itemsize != goal.itemsize:
        return None
    if {kind, op.type} & {"i1", "i2"} or (is_complex(kind) and is_complex(op.type)):
        return Computed(operand)  # between equals: no other type has these widths
    bits = np.ascontiguousarray(stored(operand, kind)).view(goal)
    return Computed(widened(bits.reshape(operand.shape), op.type))


def _predicate(op: ScalarOp) -> int:
    text = dict(op.attributes).get("predicate") or op.attribute("pred")
    found = re.match(r"-?\d+", text)
    if found is not None:
        return int(found[0])
    words = re.findall(r"\w+", text)
    return _PREDICATES.index(words[-1])
