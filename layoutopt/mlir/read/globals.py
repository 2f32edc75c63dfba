"""Globals that hold constants: what a load of one gives."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.attribute import value_of

_GLOBALS = {"util.global": "initial_value", "ml_program.global": "value"}
_STORES = {"util.global.store", "ml_program.global_store"}


def constant_globals(module: Any) -> dict[str, Any]:
    """Immutable globals by symbol, and the attribute that each holds from the start.

    The attribute is None where there is none, or where an initializer stores another value.
    """
    stored: set[str] = set()

    def visit(op: Any) -> Any:
        if op.name in _STORES:
            stored.add(ir.FlatSymbolRefAttr(op.attributes["global"]).value)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    found: dict[str, Any] = {}
    for op in module.regions[0].blocks[0].operations:
        attributes = op.operation.attributes
        held = _GLOBALS.get(op.operation.name)
        if held is None or "is_mutable" in attributes:
            continue
        name = ir.StringAttr(attributes["sym_name"]).value
        known = held in attributes and name not in stored
        found[name] = value_of(attributes, held) if known else None
    return found
