"""Regions of one op over their arguments, as extensions have them: sums, orders, copies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import Array, integer_bits, is_float

_FLOATS: dict[str, np.ufunc] = {
    "arith.addf": np.add,
    "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
}
_INTEGERS: dict[str, np.ufunc] = {
    "arith.addi": np.add,
    "arith.muli": np.multiply,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}
COMBINERS = _FLOATS | _INTEGERS
"""Commutative ops of two numbers, by their name in MLIR."""
SUMS = ("arith.addf", "arith.addi")
PRODUCTS = ("arith.mulf", "arith.muli")
EXTREMES = tuple(name for name in COMBINERS if "max" in name or "min" in name)
_BYTE = 8
_MAP = re.compile(r"affine_map<\(([^)]*)\) -> \(([^)]*)\)>")


@dataclass(frozen=True, slots=True)
class RegionOp:
    """The one op of a region, over the arguments of these numbers."""

    name: str
    arguments: tuple[int, ...]
    operation: Any


def region_op(operation: Any) -> RegionOp | None:
    """The op of a region that yields one op of its arguments, None for any other region."""
    block = operation.regions[0].blocks[0]
    given, ops = list(block.arguments), [op.operation for op in block.operations]
    if len(ops) != 2 or list(ops[1].operands) != list(ops[0].results):
        return None
    if any(value not in given for value in ops[0].operands):
        return None
    return RegionOp(ops[0].name, tuple(given.index(v) for v in ops[0].operands), ops[0])


def yielded_argument(operation: Any) -> int | None:
    """The argument that a region yields as it is, None for any other region."""
    block = operation.regions[0].blocks[0]
    given, ops = list(block.arguments), [op.operation for op in block.operations]
    values = list(ops[-1].operands)
    return given.index(values[0]) if len(values) == 1 and values[0] in given else None


def combiner_of(operation: Any, element: str) -> str | Refusal:
    """The commutative op that a region combines two numbers of a type with."""
    found = region_op(operation)
    whole = (integer_bits(element) or 1) % _BYTE == 0 and element.startswith("i")
    known = _FLOATS if is_float(element) else _INTEGERS if whole else {}
    if found is None or sorted(found.arguments) != [0, 1] or found.name not in known:
        return Refusal(
            f"expected a sum, a product or an extreme of {element}, but got another region"
        )
    return found.name


def region_lines(name: str, element: str, end: str) -> list[str]:
    """The region that combines two numbers, and what comes behind it."""
    return [
        f"  ^bb0(%lhs: {element}, %rhs: {element}):",
        f"    %both = {name} %lhs, %rhs : {element}",
        f"    iree_linalg_ext.yield %both : {element}",
        f"  }} -> {end}",
    ]


def known_errors(error: Array | None, shape: tuple[int, ...]) -> Array:
    """Bounds of errors, zero where a tensor is exact."""
    return np.zeros(shape) if error is None else np.broadcast_to(np.asarray(error), shape)


def plain_maps(text: str) -> tuple[tuple[int, ...], ...] | None:
    """The maps of an attribute, None where a dim is no plain loop."""
    found: list[tuple[int, ...]] = []
    for loops, dims in _MAP.findall(text):
        number = {name: i for i, name in enumerate(loops.split(", "))}
        names = dims.split(", ") if dims else []
        if any(name not in number for name in names):
            return None
        found.append(tuple(number[name] for name in names))
    return tuple(found)
