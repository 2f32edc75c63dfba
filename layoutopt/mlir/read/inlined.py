"""Ops that are written as the text of a function, put among the ops of a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir


def inlined(text: str, operands: Sequence[Any], ahead_of: Any) -> list[Any]:
    """Put what a function computes of operands in front of an op; its results.

    ``text``: a module of that function alone, whose ops are one block.
    """
    with ahead_of.context:
        module = ir.Module.parse(text)
    (function,) = module.body.operations
    body = function.operation.regions[0].blocks[0]
    for argument, value in zip(body.arguments, operands, strict=True):
        argument.replace_all_uses_with(value)
    *made, end = body.operations
    results = list(end.operation.operands)
    for operation in made:
        operation.operation.move_before(ahead_of)
    return results
