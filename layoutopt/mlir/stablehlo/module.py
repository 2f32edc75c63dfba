"""Modules of StableHLO: what they hold, and those whose sizes are known at run time only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.stablehlo.plain import states_more
from layoutopt.mlir.stablehlo.refine import ChangingLoop, refine_function

STABLEHLO = ("stablehlo", "chlo", "vhlo")
_FUNCTION = "func.func"
_NAMED = "jax.global_constant"
"""What `jax.export` calls the symbolic size that an argument of the function inside is."""


def leaves_sizes_open(path: Path) -> bool:
    """Whether an op of the module has a tensor of open sizes."""
    return _holds(path, _is_open)


def is_plain(path: Path) -> bool:
    """Whether no op of the module states more than IREE converts."""
    return not _holds(path, states_more)


def _is_open(op: Any) -> bool:
    return any("?" in str(value.type) for value in (*op.operands, *op.results))


def _holds(path: Path, wanted: Callable[[Any], bool]) -> bool:
    """Whether the module holds such an op."""
    found = False

    def visit(op: Any) -> Any:
        nonlocal found
        found = found or wanted(op)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    _parsed(path).walk(visit)
    return found


def size_names(path: Path) -> dict[str, str]:
    """By open size of the outer function (``arg0.1``), what the model calls it, if anything."""
    module = _parsed(path)
    functions = {
        ir.StringAttr(function.attributes["sym_name"]).value: function
        for function in _functions(module)
    }
    found: dict[str, str] = {}
    for function in functions.values():
        block = function.regions[0].blocks[0]
        for op in (o.operation for o in block.operations):
            if op.name == "func.call":
                callee = functions.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
                found |= {} if callee is None else _named(callee, op, block)
    return found


def refine(path: Path, output: Path) -> None:
    """Rewrite the ops whose operands tell sizes. Raises UnprovedSize."""
    changing: dict[int, frozenset[int]] = {}
    module = None
    while module is None:
        module = _refined(path, changing)
    with output.open("wb") as file:
        module.write_bytecode(file)


def _refined(path: Path, changing: dict[int, frozenset[int]]) -> Any | None:
    """The module; None where one more loop changes sizes, which is added by function."""
    module = _parsed(path)
    for place, function in enumerate(_functions(module)):
        try:
            refine_function(function, changing.get(place, frozenset()))
        except ChangingLoop as found:
            changing[place] = changing.get(place, frozenset()) | {found.number}
            return None
    return module


def _functions(module: Any) -> list[Any]:
    """The functions that have a body."""
    ops = [op.operation for op in module.regions[0].blocks[0].operations]
    return [op for op in ops if op.name == _FUNCTION and len(op.regions[0].blocks)]


def _named(callee: Any, call: Any, block: Any) -> dict[str, str]:
    """The names of the sizes that a call hands on as numbers."""
    if "arg_attrs" not in callee.attributes:
        return {}
    found = {}
    stated = ir.ArrayAttr(callee.attributes["arg_attrs"])
    for attributes, value in zip(stated, call.operands, strict=True):
        told = ir.DictAttr(attributes)
        name = str(ir.StringAttr(told[_NAMED]).value) if _NAMED in told else ""
        dim = _dim_of(value, block) if name else None
        if dim is not None:
            found[dim] = name
    return found


def _dim_of(value: Any, block: Any) -> str | None:
    """The dim of an argument that a value is the size of."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.get_dimension_size":
        return None
    source = owner.operands[0]
    if source.owner != block:
        return None
    dim = ir.IntegerAttr(owner.attributes["dimension"]).value
    return f"arg{ir.BlockArgument(source).arg_number}.{dim}"


def _parsed(path: Path) -> Any:
    return ir.Module.parse(path.read_bytes(), ir.Context()).operation
