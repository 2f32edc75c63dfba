"""The image of a constant under an elementwise op."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutopt.ir.graph import Structured
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.types import Array, is_float
from layoutopt.oracle.constant import constant
from layoutopt.oracle.scalar import apply
from layoutopt.rules.rewrites.interior_padding import typed

_EXACT = (
    "arith.constant",
    "arith.addf",
    "arith.subf",
    "arith.mulf",
    "arith.divf",
    "arith.negf",
    "arith.addi",
    "arith.subi",
    "arith.muli",
    "arith.andi",
    "arith.ori",
    "arith.xori",
    "arith.maximumf",
    "arith.minimumf",
    "arith.maxnumf",
    "arith.minnumf",
    "arith.maxsi",
    "arith.minsi",
    "arith.select",
    "arith.cmpf",
    "arith.cmpi",
    "arith.extf",
    "arith.extsi",
    "arith.truncf",
    "arith.trunci",
    "arith.sitofp",
)
"""Ops that round as IEEE 754 says, so that every machine gets one number."""


def image_of(op: Structured, value: str) -> str | None:
    """What the op's body yields where all its inputs are one constant, as MLIR text.

    None where it has to be computed on the target: other inputs, or functions that machines round
    differently.
    """
    body = op.body
    if len({*op.sources}) != 1 or any(o.name not in _EXACT for o in body.ops):
        return None
    given = constant(value, body.arguments[0])
    if given is None:
        return None
    values: list[Array] = [given] * len(body.arguments)
    with np.errstate(all="ignore"):
        for scalar in body.ops:
            found = apply(scalar, [values[o] for o in scalar.operands])
            if found is None:
                return None
            values.append(found)
    return _text(values[body.yields[0]], body.arguments[-1])


def with_constant(op: Structured, position: int, value: str) -> Structured:
    """The op where one input is a constant of its body."""
    body = op.body
    count = len(body.arguments)
    made = ScalarOp(
        "arith.constant",
        (),
        body.arguments[position],
        (("value", typed(value, body.arguments[position])),),
    )

    def moved(operand: int) -> int:
        if operand == position:
            return count - 1
        return operand if operand < position or operand >= count else operand - 1

    arguments = (*body.arguments[:position], *body.arguments[position + 1 :])
    ops = (made, *(replace(o, operands=tuple(map(moved, o.operands))) for o in body.ops))
    yields = tuple(map(moved, body.yields))
    return replace(
        op,
        sources=(*op.sources[:position], *op.sources[position + 1 :]),
        maps=(*op.maps[:position], *op.maps[position + 1 :]),
        body=Body(arguments, ops, yields),
    )


def _text(value: Array, element: str) -> str:
    """A number of the element type as MLIR text; the bits of it where decimals may not do."""
    if element == "i1":
        return "true" if bool(value) else "false"
    if not is_float(element):
        return f"{int(value)} : {element}"
    number = float(value)
    if np.isfinite(number) and "e" not in repr(number):
        return f"{number!r} : {element}"
    return f"0x{value.tobytes()[::-1].hex().upper()} : {element}"
