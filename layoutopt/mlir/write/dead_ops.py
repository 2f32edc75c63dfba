"""Erase what is no longer read once the blocks of control flow compute it themselves."""

from __future__ import annotations

from typing import Any

_PURE = ("linalg.", "tensor.", "arith.", "math.", "util.global.load", "flow.tensor.constant")


def erase_dead_ops(function: Any) -> None:
    """Erase the ops without effects in a function, or inside its regions, that no op reads."""
    for region in function.operation.regions:
        for block in region.blocks:
            for op in reversed(list(block.operations)):
                erase_dead_ops(op)
                operation = op.operation
                dead = all(not list(value.uses) for value in operation.results)
                if operation.results and dead and operation.name.startswith(_PURE):
                    operation.erase()
