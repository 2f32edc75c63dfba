"""The constants of a model as functions of a module: running it gives their values.

IREE reads every form that a constant can have (inline, resource, splat, parameter) and every type.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Constant
from layoutopt.mlir.module import Module

_FUNCTIONS = ("func.func", "util.func")


def write_constants(module: Module, path: Path) -> dict[str, tuple[int, int]]:
    """Write a module with a function for each constant, and take the other functions away.

    Returns (place of the function in the module, tensor of its graph) by name. A tensor without
    contents is left out: its numbers are unknown. The module given is spent.
    """
    body = module.operation.regions[0].blocks[0]
    names: dict[str, tuple[int, int]] = {}
    with module.operation.context, ir.Location.unknown():
        for place, lifted in enumerate(module.blocks):
            for op in lifted.graph.ops:
                if not isinstance(op, Constant) or not lifted.is_whole:
                    continue
                owner = lifted.values[op.result].owner
                if owner.operation.name == "tensor.empty":
                    continue
                name = f"constant_{len(names)}"
                _function(body, name, owner)
                names[name] = (place, op.result)
        for op in list(body.operations):
            attributes = op.operation.attributes
            named = ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else ""
            if op.operation.name in _FUNCTIONS and named not in names:
                op.operation.erase()
        with path.open("wb") as file:
            module.operation.write_bytecode(file)
    return names


def _function(body: Any, name: str, owner: Any) -> None:
    kind = owner.results[0].type
    text = (
        f"util.func public @{name}() -> {kind} {{\n"
        f'  %0 = "builtin.unrealized_conversion_cast"() : () -> {kind}\n'
        f"  util.return %0 : {kind}\n}}"
    )
    made = ir.Module.parse(text)
    function = made.body.operations[0]
    place = next(iter(function.operation.regions[0].blocks[0].operations))
    clone = owner.clone(ir.InsertionPoint(place))
    place.operation.results[0].replace_all_uses_with(clone.results[0])
    place.operation.erase()
    function.operation.move_after(list(body.operations)[-1].operation)
