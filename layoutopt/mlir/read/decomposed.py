"""Ops that IREE does not compile, in place of which others stand that mean the same.

The graph is read of these, so that a plan compiles where the model as it came does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iree.compiler import ir

from layoutopt.ir.types import TensorType, roundoff
from layoutopt.mlir.read.winograd import (
    Transform,
    filter_transform,
    input_transform,
    output_transform,
)

_TRANSFORMS: dict[str, Callable[[Transform], list[str]]] = {
    "linalg.winograd_filter_transform": filter_transform,
    "linalg.winograd_input_transform": input_transform,
    "linalg.winograd_output_transform": output_transform,
}
"""Lines that compute ``%out`` of ``%in`` and ``%init``."""


def decompose(block: Any) -> None:
    """Put other ops in place of those of a block that IREE does not compile."""
    for op in list(block.operations):
        lines = _lines(op.operation)
        if lines is not None:
            _replace(op.operation, lines)


def _lines(op: Any) -> list[str] | None:
    make = _TRANSFORMS.get(op.name)
    if make is None or len(op.results) != 1:
        return None
    source, result = (_static(value.type) for value in (op.operands[0], op.results[0]))
    if source is None or result is None or source.element != result.element:
        return None
    if roundoff(source.element) is None:
        return None
    form = int(str(op.attributes["fmr"]).split()[0])
    maker = getattr(op.operands[1].owner, "operation", None)
    has_init = maker is None or maker.name != "tensor.empty"
    return make(Transform(form, source, result, has_init))


def _static(kind: Any) -> TensorType | None:
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return None
    return TensorType(tuple(kind.shape), str(kind.element_type))


def _replace(op: Any, lines: list[str]) -> None:
    """Parse the lines as a function of the op's operands, and move what it holds."""
    named = zip(("%in", "%init"), op.operands, strict=True)
    given = ", ".join(f"{name}: {value.type}" for name, value in named)
    kind = op.results[0].type
    text = "\n".join([f"func.func @f({given}) -> {kind} {{", *lines, f"return %out : {kind}", "}"])
    with op.context:
        module = ir.Module.parse(text)
    (function,) = module.body.operations
    made = function.operation.regions[0].blocks[0]
    for argument, value in zip(made.arguments, op.operands, strict=True):
        argument.replace_all_uses_with(value)
    *operations, end = made.operations
    op.results[0].replace_all_uses_with(end.operation.operands[0])
    for operation in operations:
        operation.operation.move_before(op)
    op.erase()
