"""What a module lets its caller call, and where the caller's tensors are in the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.lift import ASYNC, Lifted
from layoutopt.mlir.read.lift_op import CALLS

_FENCE = "!hal.fence"


@dataclass(frozen=True, slots=True)
class Boundary:
    """Arguments and results of a function by position, as its caller counts them."""

    arguments: Mapping[int, int]
    """Tensors of the graph; what is not a static tensor is left out."""
    results: Mapping[int, int]
    types: tuple[str, ...]
    """The MLIR types of all arguments; of a buffer view, that of the tensor it is imported as."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A function that a caller can call."""

    name: str
    symbol: str
    """Of the function that holds its body: IREE's import keeps it in ``@name$async``."""
    calls: bool
    """Whether it calls other functions."""


def boundary_of(lifted: Lifted) -> Boundary:
    """The boundary of a function; asked for before a plan takes the place of its ops.

    Of one that branches, the block is the first one, and the results are not told.
    """
    tensors = {value: tensor for tensor, value in lifted.values.items()}
    arguments: dict[int, int] = {}
    types: list[str] = []
    taken = [a for a in lifted.block.arguments if str(a.type) != _FENCE]
    for position, argument in enumerate(taken):
        types.append(str(argument.type))
        for use in argument.uses:
            owner = use.owner.operation
            if owner.name == "hal.tensor.import":
                types[-1] = str(owner.results[0].type)
                if owner.results[0] in tensors:
                    arguments[position] = tensors[owner.results[0]]
        if argument in tensors:
            arguments[position] = tensors[argument]
    returned = list(lifted.kept[-1].operation.operands) if lifted.is_whole else []
    sources = [_exported_tensor(v) for v in returned if str(v.type) != _FENCE]
    results = {i: tensors[value] for i, value in enumerate(sources) if value in tensors}
    return Boundary(arguments, results, tuple(types))


def _exported_tensor(value: Any) -> Any:
    """The tensor behind the ops that hand it to the caller."""
    if isinstance(value.owner, ir.Block):
        return value
    owner = value.owner.operation
    if owner.name == "hal.tensor.export":
        return _exported_tensor(owner.operands[0])
    if owner.name == "hal.tensor.barrier":
        place = next(i for i, result in enumerate(owner.results) if result == value)
        return _exported_tensor(owner.operands[place])
    return value


def exported_functions(module: Any, functions: tuple[str, ...]) -> tuple[Exported, ...]:
    """The functions with a body that are not private. ``functions``: names of such ops."""
    found = {}
    for op in module.regions[0].blocks[0].operations:
        operation = op.operation
        if operation.name not in functions or not any(len(r.blocks) for r in operation.regions):
            continue
        attributes = operation.attributes
        visible = "sym_visibility" not in attributes or (
            ir.StringAttr(attributes["sym_visibility"]).value == "public"
        )
        symbol = ir.StringAttr(attributes["sym_name"]).value
        found[symbol] = (visible, _calls(operation))
    return tuple(
        Exported(symbol.removesuffix(ASYNC), symbol, calls)
        for symbol, (visible, calls) in found.items()
        if visible and symbol + ASYNC not in found
    )


def _calls(operation: Any) -> bool:
    found = False

    def visit(op: Any) -> Any:
        nonlocal found
        found = found or op.name in CALLS
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return found
