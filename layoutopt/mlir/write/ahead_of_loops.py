"""Put ahead of a loop what `loop_distribution` finds, and let the loop read rows of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Graph, GraphBuilder, Reshape, Slice
from layoutopt.ir.loop_distribution import AheadResult, Distributed, LoopBody, distributed
from layoutopt.ir.size import Symbol, alone, one_symbol, symbols
from layoutopt.ir.size_values import symbols_in
from layoutopt.mlir.read.inlined import inlined
from layoutopt.mlir.read.lift import Lifted
from layoutopt.mlir.read.nested import nested_ops
from layoutopt.mlir.read.sizes import as_index, constant_op
from layoutopt.mlir.write.dead_ops import erase_dead_ops
from layoutopt.mlir.write.emit import function_text
from layoutopt.mlir.write.unrolling import inline

Place = tuple[int, int, bool]
"""An op's number in its module, and the number of its result, or of an argument of its block."""


@dataclass(frozen=True, slots=True)
class SizePlace:
    """Where the value of a symbol is: it stands there, or is a dim of a tensor that does."""

    place: Place
    dim: int | None = None


@dataclass(frozen=True, slots=True)
class AheadOfLoop:
    """What a module computes ahead of one of its loops."""

    loop: str
    """The name of the loop's block."""
    found: Distributed
    body: LoopBody
    place: int
    """The loop's number in its module."""
    values: Mapping[int, Place]
    """By tensor of the block, where it stands."""
    sizes: Mapping[str, SizePlace]
    """By name of a symbol, where its value is."""


def numbered(module: Any) -> dict[Any, Place]:
    """Where each value of a module stands, the same for all modules of one text."""
    places: dict[Any, Place] = {}
    for number, operation in enumerate(nested_ops(module)):
        places |= {value: (number, i, False) for i, value in enumerate(operation.results)}
        blocks = [block for region in operation.regions for block in region.blocks]
        if len(blocks) == 1:
            places |= {a: (number, i, True) for i, a in enumerate(blocks[0].arguments)}
    return places


def ahead_of_loops(
    blocks: Sequence[Lifted], places: Mapping[Any, Place]
) -> tuple[AheadOfLoop, ...]:
    """What can be computed ahead of the loops whose blocks were lifted.

    ``places``: of the values as they stood before.
    """
    return tuple(found for block in blocks if (found := _ahead(block, places)) is not None)


def _ahead(block: Lifted, places: Mapping[Any, Place]) -> AheadOfLoop | None:
    if block.steps is None:
        return None
    variable = block.block.arguments[0]
    step = alone(block.sizes.numbers[variable])
    if step is None:  # one step
        return None
    graph, loop = block.graph, places[variable][0]
    stood = {t: places[value] for t, value in block.values.items() if value in places}
    outside = {t for t in graph.inputs if t in stood and _is_outside(block, t)}
    sizes = _sizes_ahead(block, places, loop)
    body = LoopBody(
        graph,
        step,
        block.steps,
        [t for t in graph.inputs if t not in outside],
        [name for name in sizes if name != step.name],
    )
    if any(s.name not in sizes for s in symbols(block.steps.count)):
        return None
    found = distributed(body, stood)
    if found is None or any(t not in stood for t in found.leaves.values()):
        return None
    read = {t: stood[t] for t in (*found.leaves.values(), *found.results)}
    return AheadOfLoop(block.name, found, body, loop, read, sizes)


def _sizes_ahead(block: Lifted, places: Mapping[Any, Place], loop: int) -> dict[str, SizePlace]:
    """The symbols whose values stand ahead of a loop, or are dims of tensors that do."""
    found: dict[str, SizePlace] = {}
    for name, value in block.sizes.values.items():
        asked = getattr(value.owner, "operation", None)
        if value in places:
            place = SizePlace(places[value])
        elif asked is not None and asked.name == "tensor.dim" and asked.operands[0] in places:
            stated = asked.operands[1].owner.attributes["value"]
            place = SizePlace(places[asked.operands[0]], ir.IntegerAttr(stated).value)
        else:
            continue
        number, _, is_argument = place.place
        if number < loop or (number == loop and not is_argument):
            found[name] = place
    return found


def _is_outside(block: Lifted, tensor: int) -> bool:
    """Whether a tensor is there ahead of the loop."""
    owner = block.values[tensor].owner
    if isinstance(owner, ir.Block):
        return bool(owner != block.block)
    return bool(owner.operation.block != block.block)


def distribute_loops(
    module: Any, ahead: Sequence[AheadOfLoop], written_out: Mapping[int, range]
) -> None:
    """Compute tensors ahead of the loops of a module of the same text.

    ``written_out``: loops whose steps take their place, by number, each ahead of those inside it,
    and what they count through.
    """
    operations = list(nested_ops(module))
    for each in ahead:
        loop = operations[each.place]
        with module.context, loop.location:
            _distribute(operations, loop, each)
    for place, steps in reversed([*written_out.items()]):
        inline(operations[place], steps)
    for op in module.regions[0].blocks[0].operations:
        if op.operation.regions and "sym_name" in op.operation.attributes:
            erase_dead_ops(op)


def _distribute(operations: Sequence[Any], loop: Any, each: AheadOfLoop) -> None:
    graph, block = each.found.graph, loop.regions[0].blocks[0]

    def value_at(place: Place) -> Any:
        number, position, is_argument = place
        held = operations[number]
        if is_argument:
            return held.regions[0].blocks[0].arguments[position]
        return held.results[position]

    def size_of(symbol: Symbol) -> Any:
        found = each.sizes[symbol.name]
        value = value_at(found.place)
        if found.dim is None:
            return value
        with ir.InsertionPoint(loop):
            return _dim(value, found.dim)

    leaves = [value_at(each.values[t]) for t in each.found.leaves.values()]
    for value in leaves:  # a constant may stand inside
        if not isinstance(value.owner, ir.Block) and value.owner.operation.block == block:
            value.owner.operation.move_before(loop)
    results = list(dict.fromkeys(found.tensor for found in each.found.results.values()))
    text = function_text(graph, each.found.leaves, results, "ahead")
    given = [*leaves, *map(size_of, symbols_in([text]))]
    made = dict(zip(results, inlined(text, given, loop), strict=True))
    step = as_index(block.arguments[0])
    first = block.operations[0] if step == block.arguments[0] else block.operations[1]
    for tensor, found in each.found.results.items():
        old = value_at(each.values[tensor])
        if found.backwards is None:
            old.replace_all_uses_with(made[found.tensor])
            continue
        row = _row_text(graph, found, each.body)
        read = [step if s == each.body.step else size_of(s) for s in symbols_in([row])]
        (new,) = inlined(row, [made[found.tensor], *read], first)
        old.replace_all_uses_with(new)


def _dim(tensor: Any, dim: int) -> Any:
    kind = ir.IndexType.get()
    operands = [tensor, constant_op(dim, kind)]
    return ir.Operation.create("tensor.dim", results=[kind], operands=operands).results[0]


def _row_text(graph: Graph, found: AheadResult, body: LoopBody) -> str:
    """A function that takes what holds all steps and returns the row of one step."""
    whole, step, steps = graph.types[found.tensor], one_symbol(body.step), body.steps
    passed = steps.last - step if found.backwards else step - steps.first
    builder = GraphBuilder()
    source = builder.tensor(whole.shape, whole.element)
    one = builder.tensor((1, *whole.shape[1:]), whole.element)
    row = builder.tensor(whole.shape[1:], whole.element)
    none = (0,) * (len(whole.shape) - 1)
    builder.add(Slice(source, one, (passed // steps.by, *none), (1,) * len(whole.shape)))
    builder.add(Reshape(one, row))
    return function_text(builder.build((source,), (row,)), [source], [row], "row")
