"""Which inputs and outputs of a function others than its caller outside the module see.

Such a tensor lies row-major, also where the layouts of inputs and outputs are free: another
function of the module reads it or makes it, its buffer serves for something else too, or it goes to
more than one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.lift import Lifted

_STUB = "iree.abi.stub"
"""What IREE's import marks ``@f`` with, which only hands its buffers on to ``@f$async``."""
_ABI = "iree.abi."
_HARMLESS = ("iree.abi.name", "iree.abi.affinity")
_LEAVING = ("func.return", "util.return", "hal.tensor.export", "hal.tensor.barrier")


def is_private(function: Any) -> bool:
    """Whether a function cannot be called from outside the module."""
    attributes = function.operation.attributes
    name = "sym_visibility"
    return name in attributes and ir.StringAttr(attributes[name]).value == "private"


def referred_functions(module: Any) -> frozenset[str]:
    """The symbols that ops of a module name, but for ``@f$async`` in the stub ``@f``."""
    found: set[str] = set()
    for function in module.regions[0].blocks[0].operations:
        named = _named_in(function)
        attributes = function.operation.attributes
        if _STUB in attributes and "sym_name" in attributes:
            named.discard(f"{ir.StringAttr(attributes['sym_name']).value}$async")
        found |= named
    return frozenset(found)


def _named_in(operation: Any) -> set[str]:
    found: set[str] = set()

    def visit(op: Any) -> Any:
        for name in op.attributes:
            found.update(symbols_of(op.attributes[name]))
        return ir.WalkResult.ADVANCE

    operation.operation.walk(visit)
    return found


def fixed_tensors(lifted: Lifted, referred: frozenset[str]) -> frozenset[int]:
    """The inputs and outputs that stay row-major. ``referred``: see `referred_functions`."""
    function, graph = lifted.block.owner, lifted.graph
    if not lifted.is_whole or is_private(function) or lifted.name in referred:
        return frozenset((*graph.inputs, *graph.outputs))
    arguments = list(lifted.block.arguments)
    results = list(lifted.kept[-1].operation.operands)
    bound = list(_bound(function, "arg_attrs"))
    shared = [arguments[i] for i, _ in bound]
    shared += [results[n] for _, n in bound if n is not None]
    shared += [results[i] for i, _ in _bound(function, "res_attrs")]
    return frozenset(
        t
        for t in (*graph.inputs, *graph.outputs)
        if lifted.values[t] in shared or _is_shared(lifted.values[t])
    )


def symbols_of(attribute: Any) -> Iterator[str]:
    """The symbols that an attribute names."""
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        yield attribute.value
    elif isinstance(attribute, ir.SymbolRefAttr):
        yield from attribute.value
    elif isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from symbols_of(item)
    elif isinstance(attribute, ir.DictAttr):
        for named in attribute:
            yield from symbols_of(named.attr)


def _bound(function: Any, name: str) -> Iterator[tuple[int, int | None]]:
    """Arguments (or results) that the ABI binds to more than a value, and the result it names."""
    attributes = function.operation.attributes
    if name not in attributes:
        return
    for position, item in enumerate(ir.ArrayAttr(attributes[name])):
        table = {named.name: named.attr for named in ir.DictAttr(item)}
        if any(name.startswith(_ABI) and name not in _HARMLESS for name in table):
            output = table.get(f"{_ABI}output")
            yield position, None if output is None else ir.IntegerAttr(output).value


def _is_shared(value: Any) -> bool:
    """Whether a tensor's buffer is read as another one too, or the tensor leaves in two places.

    One that the function makes itself, without values, does not come from its caller.
    """
    owner = value.owner
    if isinstance(owner, ir.Operation | ir.OpView) and owner.operation.name == "tensor.empty":
        return True
    if isinstance(owner, ir.Operation | ir.OpView) and owner.operation.name == "hal.tensor.import":
        return len(list(owner.operation.operands[0].uses)) > 1
    leaving = [use.owner.operation for use in value.uses if use.owner.operation.name in _LEAVING]
    if len(leaving) != 1:
        return len(leaving) > 1
    if leaving[0].name != "hal.tensor.barrier":
        return False
    place = list(leaving[0].operands).index(value)
    return _is_shared(leaving[0].results[place])
