"""Assertions inside bodies, which IREE takes out of every dispatch.

    generic { c = cmpi slt, i, n; cf.assert c; e = tensor.extract t[i]; yield e }
      ->
    generic { e = tensor.extract t[i]; yield e }

They are checked by no module that IREE compiles; exporters put them around lookups.
"""

from __future__ import annotations

from typing import Any

ASSERTION = "cf.assert"


def drop_assertions(op: Any) -> None:
    """Erase the assertions in the bodies of an op, and what computes their conditions alone."""
    for region in op.operation.regions:
        for block in region.blocks:
            found = [o for o in block.operations if o.operation.name == ASSERTION]
            for assertion in found:
                conditions = list(assertion.operation.operands)
                assertion.operation.erase()
                for value in conditions:
                    _erase_unused(value, block)


def _erase_unused(value: Any, block: Any) -> None:
    if list(value.uses) or value.owner == block:
        return
    owner = value.owner
    if owner.operation.block != block or list(owner.operation.regions):
        return
    read = list(owner.operation.operands)
    owner.operation.erase()
    for operand in dict.fromkeys(read):
        _erase_unused(operand, block)
