"""Functions that launch their dispatches many times in one submission.

In the stream phase of IREE a function hands its commands over in ``stream.cmd.execute`` ops, each
of which becomes one command buffer with a barrier behind every dispatch. A copy of the function
whose commands stand there ``launches`` times is one submission still: what calling, submitting and
waiting cost comes once for all of them. Commands write their results to the same memory each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iree.compiler import ir

SUFFIX = "_many"
"""What the name of such a function ends with."""

_FUNCTION = "util.func"
_SUBMISSION = "stream.cmd.execute"


def with_many_launches(text: str, launches: int, is_wanted: Callable[[str], bool]) -> str:
    """A module of the stream phase with one more function, named with ``SUFFIX``, for each wanted.

    ``is_wanted`` is asked by symbol name. A function without commands gets a plain copy. ValueError
    where the text is not a module.
    """
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise ValueError(str(error)) from error
        for op in list(module.body.operations):
            if op.operation.name != _FUNCTION:
                continue
            name = ir.StringAttr(op.operation.attributes["sym_name"]).value
            if is_wanted(name):
                copy = op.operation.clone(ip=ir.InsertionPoint(module.body))
                copy.attributes["sym_name"] = ir.StringAttr.get(name + SUFFIX)
                _repeat_commands(copy, launches)
        return str(module)


def _repeat_commands(op: Any, launches: int) -> None:
    """Write the commands of each submission inside an op ``launches`` times."""
    for region in op.regions:
        for block in region.blocks:
            if op.name == _SUBMISSION:
                *commands, end = list(block.operations)
                for _ in range(launches - 1):
                    for command in commands:
                        command.operation.clone(ip=ir.InsertionPoint(end))
                continue
            for inner in list(block.operations):
                _repeat_commands(inner.operation, launches)
