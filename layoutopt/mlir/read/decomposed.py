"""Ops that IREE does not compile, in place of which others stand that mean the same.

The graph is read of these, so that a plan compiles where the model as it came does not.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from iree.compiler import ir

from layoutopt.ir.types import TensorType, roundoff
from layoutopt.mlir.read.inlined import inlined
from layoutopt.mlir.read.winograd import (
    Transform,
    filter_transform,
    input_transform,
    output_transform,
)

_MOST_STAGES = 16
"""A stage has half as many factors as its groups have numbers: these are constants of the model."""


def decompose(block: Any) -> None:
    """Put other ops in place of those of a block that IREE does not compile."""
    for op in list(block.operations):
        make = _DECOMPOSITIONS.get(op.operation.name)
        found = None if make is None else make(op.operation)
        if found is not None:
            _replace(op.operation, found)


@dataclass(frozen=True, slots=True)
class _Lines:
    """What computes the results of an op of its operands, and their names in it."""

    operands: tuple[str, ...]
    lines: list[str]
    results: tuple[str, ...]


def _winograd(make: Callable[[Transform], list[str]], op: Any) -> _Lines | None:
    source, result = (_static(value.type) for value in (op.operands[0], *op.results))
    if source is None or result is None or source.element != result.element:
        return None
    if roundoff(source.element) is None:
        return None
    form = int(str(op.attributes["fmr"]).split()[0])
    maker = getattr(op.operands[1].owner, "operation", None)
    has_init = maker is None or maker.name != "tensor.empty"
    lines = make(Transform(form, source, result, has_init))
    return _Lines(("%in", "%init"), lines, ("%out",))


def _fft(op: Any) -> _Lines | None:
    """With twiddle factors ``exp(-2 pi i j / 2^stage)``, where it has none: IREE crashes there."""
    if len(op.operands) != 3:  # the stage and both parts
        return None
    stage = getattr(op.operands[0].owner, "attributes", {})
    number = int(str(stage["value"]).split()[0]) if "value" in stage else 0
    kind = op.results[0].type
    element = str(kind.element_type)
    if not 0 < number <= _MOST_STAGES or roundoff(element) is None:
        return None
    turns = [cmath.exp(-2j * math.pi * j / (1 << number)) for j in range(1 << (number - 1))]
    factors = TensorType((len(turns),), element)
    lines = [
        f"{name} = arith.constant dense<{[part(turn) for turn in turns]}> : {factors}"
        for name, part in (("%cos", _real), ("%sin", _imaginary))
    ]
    lines.append(
        f"%x, %y = iree_linalg_ext.fft ins(%stage, %cos, %sin : index, {factors}, {factors}) "
        f"outs(%real, %imaginary : {kind}, {kind}) : {kind}, {kind}"
    )
    return _Lines(("%stage", "%real", "%imaginary"), lines, ("%x", "%y"))


def _real(number: complex) -> float:
    return number.real


def _imaginary(number: complex) -> float:
    return number.imag


def _static(kind: Any) -> TensorType | None:
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return None
    return TensorType(tuple(kind.shape), str(kind.element_type))


def _replace(op: Any, found: _Lines) -> None:
    """Parse the lines as a function of the op's operands, and move what it holds."""
    named = zip(found.operands, op.operands, strict=True)
    given = ", ".join(f"{name}: {value.type}" for name, value in named)
    kinds = ", ".join(str(value.type) for value in op.results)
    text = "\n".join(
        [
            f"func.func @f({given}) -> ({kinds}) {{",
            *found.lines,
            f"return {', '.join(found.results)} : {kinds}",
            "}",
        ]
    )
    made = inlined(text, list(op.operands), op)
    for value, new in zip(op.results, made, strict=True):
        value.replace_all_uses_with(new)
    op.erase()


_DECOMPOSITIONS: dict[str, Callable[[Any], _Lines | None]] = {
    "linalg.winograd_filter_transform": partial(_winograd, filter_transform),
    "linalg.winograd_input_transform": partial(_winograd, input_transform),
    "linalg.winograd_output_transform": partial(_winograd, output_transform),
    "iree_linalg_ext.fft": _fft,
}
"""By name, what takes the place of an op; None leaves it as it came."""
