"""Put a planned graph in place of the ops it was lifted from.

The new ops are written as text and parsed into the module's own context; weights stay the very
attributes they were. Each new op goes behind the last kept op that it depends on, so that ops
with side effects keep their order. A weight in another layout becomes a global, so that
no pass folds the conversion back into the op that reads the weight: with its elements where they
are known, else with an initializer, which IREE runs at load time for parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from layoutopt.errors import LoweringError
from layoutopt.ir.graph import Constant
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.size import Symbol
from layoutopt.ir.size_values import symbols_in
from layoutopt.ir.weights import constant_names
from layoutopt.mlir.read.lift import Lifted
from layoutopt.mlir.write.emit import body_text, function_text
from layoutopt.mlir.write.folded_weights import folded_weights
from layoutopt.mlir.write.weight_globals import WeightGlobals
from layoutopt.mlir.write.weight_initializers import Initializer, initializers

_LEAF = "builtin.unrealized_conversion_cast"


def splice(lifted: Lifted, lowered: Lowered, weights: WeightGlobals) -> None:
    """Replace the lifted ops by the lowered plan, in the module that ``lifted`` came from.

    ``weights``: the names of the module, to which those of new globals are added. Raises
    LoweringError where MLIR refuses the new ops.
    """
    with lifted.block.owner.context:
        parsed = parsed_plan(lifted, lowered, weights)
        _move(parsed.planned, lifted, lowered, parsed.symbols)
        erase_dead(lifted)


@dataclass(frozen=True, slots=True)
class ParsedPlan:
    """The planned ops as a function of a module of their own; its globals are in the model's."""

    module: Any
    planned: Any
    symbols: tuple[Symbol, ...]
    """Those whose values the function takes behind the leaves."""


def parsed_plan(lifted: Lifted, lowered: Lowered, weights: WeightGlobals) -> ParsedPlan:
    """Parse a plan, and add its new globals to the module that ``lifted`` came from.

    ``weights``: see `splice`. Raises LoweringError where MLIR refuses the new ops.
    """
    names, new = weights.named(lowered.hoisted, constant_names(lifted.graph, 0))
    hoisted: list[Initializer] = []
    ready: dict[int, Any] = {}
    for weight in initializers(new):
        folded = folded_weights(weight, lifted.values)
        if folded is None:
            hoisted.append(weight)
        else:
            ready |= folded
    function = _top_level(lifted.block)
    with function.context:
        text, symbols = _snippet(lowered, ready, hoisted, names)
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            first = str(error).splitlines()[:2]
            raise LoweringError(
                f"function '{lifted.name}'",
                "a plan that is valid MLIR",
                " ".join(first),
                "report this as a bug of layoutopt",
            ) from error
        operations = list(module.body.operations)
        made = [op for op in operations if op.operation.name == "util.initializer"]
        known = len(set(names.values())) - len(new)
        for operation, computed in zip(made, hoisted, strict=True):
            _fill_leaves(operation, lifted, list(computed.inputs))
        for operation, tensor in zip(operations[known:], ready, strict=False):
            operation.operation.attributes["initial_value"] = ready[tensor]
        _add_globals(function, operations[known:-1])
        for operation in operations[:known]:
            operation.operation.erase()
    return ParsedPlan(module, operations[-1], symbols)


def _top_level(block: Any) -> Any:
    """The op of the module that a block stands in."""
    owner = block.owner.operation
    while owner.parent.parent is not None:
        owner = owner.parent.operation
    return owner


def _add_globals(function: Any, made: Sequence[Any]) -> None:
    """Put globals and their initializers ahead of a function, and behind the initializers that are
    there: these run in order, and may store what the new ones read.
    """
    behind = None
    seen = False
    for op in function.parent.regions[0].blocks[0].operations:
        seen = seen or op.operation == function
        if seen and op.operation.name == "util.initializer":
            behind = op.operation
    for op in made:
        if behind is None:
            op.operation.move_before(function)
        else:
            op.operation.move_after(behind)
            behind = op.operation


def _snippet(
    lowered: Lowered,
    ready: Collection[int],
    hoisted: Sequence[Initializer],
    names: Mapping[int, str],
) -> tuple[str, tuple[Symbol, ...]]:
    """Globals that are there, new ones, the planned ops as one function.

    ``ready``: tensors whose new globals have elements; those of the others follow, with their
    ``hoisted`` initializers. Behind its inputs and constants the function takes the values of the
    symbols that are returned with it.
    """
    types = lowered.graph.types
    globals_of = {name: f"util.global private @{name} : {types[t]}" for t, name in names.items()}
    made = {names[t] for weights in hoisted for _, t in weights.outputs}
    made.update(names[t] for t in ready)
    parts = [text for name, text in globals_of.items() if name not in made]
    parts += [globals_of[names[t]] for t in ready]
    for weights in hoisted:
        parts += [globals_of[names[t]] for _, t in weights.outputs]
        parts.append(_initializer(weights, names))
    loads = [
        f"  %t{t} = util.global.load immutable @{name} : {types[t]}" for t, name in names.items()
    ]
    function = function_text(
        lowered.graph,
        lowered.inputs.values(),
        lowered.made,
        "planned",
    )
    head, _, rest = function.partition("\n")
    return "\n".join([*parts, head, *loads, rest]), symbols_in([function])


def _initializer(weights: Initializer, names: Mapping[int, str]) -> str:
    graph = weights.graph
    lines = [f'  %t{t} = "{_LEAF}"() : () -> {graph.types[t]}' for t in weights.inputs.values()]
    stores = [
        f"  util.global.store %t{tensor}, @{names[planned]} : {graph.types[tensor]}"
        for tensor, planned in weights.outputs
    ]
    return "\n".join(
        ["util.initializer {", *lines, body_text(graph), *stores, "  util.return", "}"]
    )


def _fill_leaves(initializer: Any, lifted: Lifted, leaves: list[int]) -> None:
    """Let the initializer read copies of the ops that hold the constants (not of their values)."""
    block = initializer.operation.regions[0].blocks[0]
    places = [op for op in block.operations if op.operation.name == _LEAF]
    for place, tensor in zip(places, leaves, strict=True):
        clone = lifted.values[tensor].owner.clone(ir.InsertionPoint(place))
        place.operation.results[0].replace_all_uses_with(clone.results[0])
        place.operation.erase()


def _move(planned: Any, lifted: Lifted, lowered: Lowered, symbols: Sequence[Symbol]) -> None:
    block = planned.operation.regions[0].blocks[0]
    stage = connected(block, lifted, lowered, symbols)
    leaves = list(lowered.inputs)
    operations = list(block.operations)
    results = list(operations[-1].operation.operands)
    for operation in operations[:-1]:
        op = operation.operation
        needed = max((stage.get(v, 0) for v in read_by(op)), default=0)
        op.move_before(lifted.kept[needed].operation)
        for value in op.results:
            stage[value] = needed
    for pair, value in zip(lowered.handed, results[len(lowered.outputs) :], strict=True):
        for cast in lifted.handed[pair]:
            cast.replace_all_uses_with(value)
            cast.owner.erase()
    for tensor, value in zip(lowered.outputs, results, strict=False):
        if tensor not in leaves or tensor in lifted.taken:
            old = lifted.values[tensor]
            same = old.type == value.type
            new = value if same else cast_to(value, old.type, lifted.kept[stage[value]])
            old.replace_all_uses_with(new)
    planned.operation.erase()


def connected(
    block: Any, lifted: Lifted, lowered: Lowered, symbols: Sequence[Symbol]
) -> dict[Any, int]:
    """Let planned ops read the model's values in place of their block's arguments.

    Hands back how many kept ops must come before the uses of each value that they read.
    """
    stage: dict[Any, int] = {}
    arguments, leaves = list(block.arguments), list(lowered.inputs)
    for argument, tensor in zip(arguments, leaves, strict=False):
        value, at = lifted.taken.get(tensor, lifted.values[tensor]), lifted.stages[tensor]
        if value.type != argument.type:
            value = cast_to(value, argument.type, lifted.kept[at])
        stage[value] = at
        argument.replace_all_uses_with(value)
    for argument, symbol in zip(arguments[len(leaves) :], symbols, strict=True):
        value = lifted.sizes.values[symbol.name]
        stage[value] = lifted.sizes.stages[symbol.name]
        argument.replace_all_uses_with(value)
    return stage


def cast_to(value: Any, kind: Any, ahead_of: Any) -> Any:
    """A tensor as one whose type leaves other sizes open, in front of an op."""
    with ir.InsertionPoint(ahead_of.operation), ahead_of.operation.location:
        return ir.Operation.create("tensor.cast", results=[kind], operands=[value]).results[0]


def read_by(op: Any) -> Iterator[Any]:
    """The values that an op reads, itself or inside its regions (a gather captures its table)."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from read_by(inner.operation)


def erase_dead(lifted: Lifted) -> None:
    """Erase the ops that the plan wrote anew, and its constants that are no longer read.

    Those that it captures are left to the block they stand in.
    """
    read = [lifted.values[op.result].owner for op in lifted.graph.ops if isinstance(op, Constant)]
    constants = [op for op in read if op.operation.block == lifted.block]
    for operation in (*reversed(lifted.planned), *constants):
        op = operation.operation
        if all(not list(value.uses) for value in op.results):
            op.erase()
