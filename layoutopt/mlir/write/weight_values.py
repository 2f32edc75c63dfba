"""Values for parameters of a module: constants in place of what loads them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from iree.compiler import ir

from layoutopt.ir.types import Array
from layoutopt.mlir.read.parameters import parameter_of

Buffer = bytes | memoryview

_GLOBAL, _LOAD = "util.global", "util.global.load"


def put_values(path: Path, output: Path, scope: str, values: Callable[[str], Buffer]) -> None:
    """Write a module, in bytecode, whose parameters of a scope are constants.

    ``values``: the elements of a parameter by its key, as they lie in memory (little-endian, bytes
    of whole elements). Buffers are used where they are and not copied.
    """
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(path.read_bytes())
        found: dict[str, Any] = {}
        for op in list(module.body.operations):
            if op.operation.name != _GLOBAL or "initial_value" not in op.attributes:
                continue
            initial = op.attributes["initial_value"]
            parameter = parameter_of(initial)
            if parameter is None or parameter.scope != scope:
                continue
            symbol = ir.StringAttr(op.attributes["sym_name"]).value
            found[symbol] = _constant(values(parameter.key), parameter.key, initial.type)
            op.operation.erase()
        for op in list(module.body.operations):
            _replace_loads(op.operation, found)
        with output.open("wb") as file:
            module.operation.write_bytecode(file)


def _constant(values: Buffer, name: str, kind: Any) -> Any:
    """An attribute with these elements; one number where all are the same."""
    elements = np.frombuffer(values, np.uint8).reshape(math.prod(kind.shape), -1)
    if all(np.array_equal(some, elements[: len(some)]) for some in _repeats(elements)):
        one = elements[0].tobytes()
        is_bit = str(kind.element_type) == "i1"
        text = str(any(one)).lower() if is_bit else f'"0x{one.hex()}"'
        return ir.Attribute.parse(f"dense<{text}> : {kind}")
    return ir.DenseResourceElementsAttr.get_from_buffer(values, name, kind)


def _repeats(elements: Array) -> Iterator[Array]:
    """The first one as often as there are, a few first: most weights end there."""
    for count in (min(64, len(elements)), len(elements)):
        yield np.broadcast_to(elements[0], (count, elements.shape[1]))


def _replace_loads(op: Any, values: dict[str, Any]) -> None:
    for region in op.regions:
        for block in region.blocks:
            for inner in list(block.operations):
                if inner.operation.name != _LOAD:
                    _replace_loads(inner.operation, values)
                    continue
                name = ir.FlatSymbolRefAttr(inner.attributes["global"]).value
                if name in values:
                    _replace(inner.operation, values[name])


def _replace(load: Any, value: Any) -> None:
    constant = ir.Operation.create(
        "arith.constant",
        results=[load.results[0].type],
        attributes={"value": value},
        loc=load.location,
        ip=ir.InsertionPoint(load),
    )
    load.results[0].replace_all_uses_with(constant.results[0])
    load.erase()
