"""Weights that a module converts when it is loaded, and how it names them once they are not.

util.global private @w : T                    util.global private @w =
util.initializer {                              #stream.parameter.named<"scope"::"key"> : T
  %0 = util.global.load @source      ->
  ..
  util.global.store %n, @w
}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Constant, Graph, Opaque
from layoutopt.ir.types import TensorType
from layoutopt.mlir.read.attribute import value_of
from layoutopt.mlir.read.lift import Lifted, lift
from layoutopt.mlir.read.parameters import Parameter, parameter_attribute, parameter_of
from layoutopt.mlir.read.state import tensor_type

_STORE = "util.global.store"


@dataclass(frozen=True, slots=True)
class LoadTimeWeight:
    """A global that an initializer computes from parameters."""

    symbol: str
    kind: TensorType
    graph: Graph
    """Its inputs and constants are the parameters that it reads, or splats."""
    parameters: dict[int, Parameter]
    """By tensor of the graph."""
    result: int
    reason: str = ""
    """Why it can only be computed by the module itself, reads on from "because"."""


def load_time_weights(operation: Any) -> tuple[LoadTimeWeight, ...]:
    """The weights that a module computes from parameters when it is loaded, in order."""
    ops = list(operation.regions[0].blocks[0].operations)
    sources = _global_parameters(ops)
    found = []
    for op in ops:
        if op.operation.name == "util.initializer":
            weight = _weight(op, sources)
            if weight is not None:
                found.append(weight)
    return tuple(found)


def external_tensors(lifted: Lifted, operation: Any) -> tuple[int, ...]:
    """The tensors of a function of the module that are parameters."""
    sources = _global_parameters(list(operation.regions[0].blocks[0].operations))
    leaves = [op.result for op in lifted.graph.ops if isinstance(op, Constant)]
    return tuple(t for t in leaves if _read_parameter(lifted.values[t].owner, sources) is not None)


def name_parameters(operation: Any, named: Mapping[str, Parameter]) -> None:
    """Let globals be parameters of their own; what computed them goes, and what only that read."""
    body = operation.regions[0].blocks[0]
    with operation.context:
        for op in list(body.operations):
            if op.operation.name == "util.initializer" and _stored(op) in named:
                op.operation.erase()
        for op in list(body.operations):
            symbol = _symbol(op)
            if symbol in named:
                kind = tensor_type(ir.TypeAttr(op.operation.attributes["type"]).value)
                assert kind is not None
                attribute = parameter_attribute(named[symbol], kind)
                op.operation.attributes["initial_value"] = attribute
        _erase_dead_parameters(operation)


def _erase_dead_parameters(operation: Any) -> None:
    """Erase private parameters that are not read: the file need not hold them."""
    read: set[str] = set()

    def visit(op: Any) -> Any:
        for name in ("global", "value", "callee"):
            if name in op.attributes and isinstance(op.attributes[name], ir.FlatSymbolRefAttr):
                read.add(ir.FlatSymbolRefAttr(op.attributes[name]).value)
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    for op in list(operation.regions[0].blocks[0].operations):
        attributes = op.operation.attributes
        private = "sym_visibility" in attributes and "private" in str(attributes["sym_visibility"])
        if private and _parameter(op) is not None and _symbol(op) not in read:
            op.operation.erase()


def _weight(initializer: Any, sources: Mapping[str, Parameter | None]) -> LoadTimeWeight | None:
    """None for an initializer that stores no tensor of static shape or reads no parameter."""
    lifted = lift(initializer, dict.fromkeys(sources))
    if lifted is None:
        return None
    symbol = _stored(initializer)
    graph = lifted.graph
    leaves = {op.result: op.splat for op in graph.ops if isinstance(op, Constant)}
    parameters: dict[int, Parameter] = {}
    reason = ""
    for tensor, splat in leaves.items():
        owner = lifted.values[tensor].owner
        parameter = _read_parameter(owner, sources)
        if parameter is not None:
            parameters[tensor] = parameter
        elif splat is None:
            reason = f"{owner.name} is not a parameter"
    if not parameters or not graph.outputs:
        return None
    barriers = [op for op in graph.ops if isinstance(op, Opaque) and op.name != _STORE]
    if barriers:
        reason = f"{barriers[0].name} is not known here"
    if symbol is None:
        reason = "an initializer that computes several globals stays whole"
    result = graph.outputs[0]
    known = replace(graph, ops=tuple(o for o in graph.ops if not isinstance(o, Opaque)), names=())
    return LoadTimeWeight(
        symbol or "several globals", graph.types[result], known, parameters, result, reason
    )


def _stored(initializer: Any) -> str | None:
    """The one global that an initializer stores to, None where there are more or none."""
    found = []

    def visit(op: Any) -> Any:
        if op.name == _STORE:
            found.append(ir.FlatSymbolRefAttr(op.attributes["global"]).value)
        return ir.WalkResult.ADVANCE

    initializer.operation.walk(visit)
    return found[0] if len(found) == 1 else None


def _global_parameters(ops: list[Any]) -> dict[str, Parameter | None]:
    """Immutable globals, with the parameter that each one is, if it is one."""
    return {
        _symbol(op): _parameter(op)
        for op in ops
        if op.operation.name == "util.global" and "is_mutable" not in op.operation.attributes
    }


def _parameter(op: Any) -> Parameter | None:
    attributes = op.operation.attributes
    if op.operation.name != "util.global" or "initial_value" not in attributes:
        return None
    return parameter_of(attributes["initial_value"])


def _symbol(op: Any) -> str:
    attributes = op.operation.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else ""


def _read_parameter(owner: Any, sources: Mapping[str, Parameter | None]) -> Parameter | None:
    """The parameter that an op reads, from a global or by name."""
    attributes = owner.attributes
    if "global" in attributes:
        return sources.get(ir.FlatSymbolRefAttr(attributes["global"]).value)
    return parameter_of(value_of(attributes, "value")) if "value" in attributes else None
