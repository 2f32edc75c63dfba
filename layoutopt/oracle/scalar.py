"""NumPy meanings of the scalar ops that bodies are made of, applied to whole arrays."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable

import numpy as np

from layoutopt.scalar import ScalarOp
from layoutopt.types import Array, numpy_dtype

Binary = Callable[[Array, Array], Array]
Unary = Callable[[Array], Array]

_UNSIGNED_CASTS = ("arith.extui", "arith.uitofp")

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _divide_int(a: Array, b: Array) -> Array:
    """Rounds towards zero; NumPy rounds down."""
    down: Array = np.floor_divide(a, b)
    down += (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
    return down


def _unsigned(a: Array) -> Array:
    return a if a.dtype == np.bool_ else a.view(np.dtype(f"u{a.dtype.name}"))


def _unsigned_bits(a: Array) -> Array:
    """The bits of an unsigned number, to be cut to the width of a signed one."""
    return np.trunc(a).astype(np.uint64).view(np.int64)


def _signed(a: Array) -> Array:
    """An i1 that is true is -1 where it counts as a number."""
    return -a.astype(np.int8) if a.dtype == np.bool_ else a


BINARY: dict[str, Binary] = {
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.subf": np.subtract,
    "arith.subi": np.subtract,
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.divf": np.divide,
    "arith.divsi": _divide_int,
    "arith.remf": np.fmod,
    "arith.remsi": np.fmod,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "math.powf": np.power,
    "math.atan2": np.arctan2,
    "math.copysign": np.copysign,
}
UNARY: dict[str, Unary] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.sqrt": np.sqrt,
    "math.cbrt": np.cbrt,
    "math.rsqrt": lambda a: 1 / np.sqrt(a),
    "math.sin": np.sin,
    "math.cos": np.cos,
    "math.tan": np.tan,
    "math.sinh": np.sinh,
    "math.cosh": np.cosh,
    "math.tanh": np.tanh,
    "math.asin": np.arcsin,
    "math.acos": np.arccos,
    "math.atan": np.arctan,
    "math.ceil": np.ceil,
    "math.floor": np.floor,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
    "math.round": lambda a: np.sign(a) * np.floor(np.abs(a) + 0.5),
    "math.erf": _erf,
}
_CASTS: dict[str, Unary] = {
    "arith.extf": lambda a: a,
    "arith.truncf": lambda a: a,
    "arith.extsi": lambda a: a,
    "arith.trunci": lambda a: a,
    "arith.sitofp": lambda a: a,
    "arith.index_cast": lambda a: a,
    "arith.fptosi": np.trunc,
    "arith.fptoui": _unsigned_bits,
    "arith.extui": _unsigned,
    "arith.uitofp": _unsigned,
}
# arith.cmpf predicates by number: false, then ordered, ord, then unordered, uno, true
_CMPF: tuple[Callable[[Array, Array, Array], Array], ...] = (
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
_CMPI: tuple[Binary, ...] = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
)


def apply(op: ScalarOp, operands: list[Array]) -> Array | None:
    """The op over whole arrays, in the op's own result type; None for an op unknown here."""
    dtype = numpy_dtype(op.type)
    if dtype is None:
        return None
    keep = op.name == "arith.select" or op.name in _UNSIGNED_CASTS
    result = _apply(op, operands if keep else [_signed(a) for a in operands])
    if result is None:
        return None
    if dtype == np.bool_ and result.dtype != np.bool_:
        return (result & 1).astype(np.bool_)
    return np.asarray(result).astype(dtype, copy=False)


def _apply(op: ScalarOp, operands: list[Array]) -> Array | None:
    if op.name == "arith.constant":
        return constant(op.attribute("value"), op.type)
    if op.name in BINARY:
        return BINARY[op.name](operands[0], operands[1])
    if op.name in UNARY:
        return UNARY[op.name](operands[0])
    if op.name in _CASTS:
        return _CASTS[op.name](operands[0])
    if op.name == "arith.select":
        return np.where(operands[0].astype(np.bool_), operands[1], operands[2])
    if op.name == "arith.cmpf":
        predicate = _number(op.attribute("predicate"))
        nan = np.isnan(operands[0]) | np.isnan(operands[1])
        return _CMPF[predicate](operands[0], operands[1], nan)
    if op.name == "arith.cmpi":
        predicate = _number(op.attribute("predicate"))
        if predicate < len(_CMPI):
            return _CMPI[predicate](operands[0], operands[1])
        lhs, rhs = map(_unsigned, operands)
        return _CMPI[predicate - len(_CMPI) + 2](lhs, rhs)  # ult, ule, ugt, uge
    if op.name == "math.fma":
        return operands[0] * operands[1] + operands[2]
    return None


def constant(text: str, element: str) -> Array | None:
    """The value of a scalar attribute: ``1.0e-5 : f32``, ``true``, ``0x7F800000 : f32``."""
    dtype = numpy_dtype(element)
    if dtype is None:
        return None
    number = text.split(":", maxsplit=1)[0].strip()
    if number in ("true", "false"):
        return np.asarray(number == "true")
    if number.startswith("0x") and element.startswith(("f", "bf")):
        bits = int(number, 16)
        raw = struct.pack(f"<{ {2: 'H', 4: 'I', 8: 'Q'}[dtype.itemsize] }", bits)
        return np.frombuffer(raw, dtype).reshape(())
    value = float(number) if element.startswith(("f", "bf")) else int(number, 0)
    return np.asarray(value).astype(dtype)


def _number(text: str) -> int:
    found = re.match(r"-?\d+", text)
    assert found, text
    return int(found[0])
