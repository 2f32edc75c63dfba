"""Put ahead of a loop what `loop_distribution` finds, and let the loop read rows of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Graph
from layoutopt.ir.loop_distribution import AheadResult, Distributed, Steps, distributed
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType
from layoutopt.mlir.read.lift import Lifted
from layoutopt.mlir.read.nested import nested_ops
from layoutopt.mlir.read.sizes import as_index
from layoutopt.mlir.write.dead_ops import erase_dead_ops
from layoutopt.mlir.write.emit import function_text
from layoutopt.mlir.write.unrolling import inline

Place = tuple[int, int, bool]
"""An op's number in its module, and the number of its result, or of an argument of its block."""


@dataclass(frozen=True, slots=True)
class AheadOfLoop:
    """What a module computes ahead of one of its loops."""

    loop: str
    """The name of the loop's block."""
    contractions: int
    """How many of those of the loop."""
    found: Distributed
    steps: range
    place: int
    """The loop's number in its module."""
    values: Mapping[int, Place]
    """By tensor of the block, where it stands."""


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
    if not block.steps:
        return None
    variable = block.block.arguments[0]
    step = block.sizes.numbers[variable]
    if not isinstance(step, Size):  # one step
        return None
    symbol, graph, loop = str(step), block.graph, places[variable][0]
    stood = {t: places[value] for t, value in block.values.items() if value in places}
    outside = {t for t in graph.inputs if t in stood and _is_outside(block, t)}
    found = distributed(
        graph,
        Steps(symbol, block.steps),
        [t for t in graph.inputs if t not in outside],
        stood,
    )
    if found is None or any(t not in stood for t in found.leaves.values()):
        return None
    read = {t: stood[t] for t in (*found.leaves.values(), *found.results)}
    return AheadOfLoop(block.name, len(found.contractions), found, block.steps, loop, read)


def _is_outside(block: Lifted, tensor: int) -> bool:
    """Whether a tensor is there ahead of the loop."""
    owner = block.values[tensor].owner
    if isinstance(owner, ir.Block):
        return bool(owner != block.block)
    return bool(owner.operation.block != block.block)


def distribute_loops(
    module: Any, ahead: Sequence[AheadOfLoop], inlined: Mapping[int, range]
) -> None:
    """Compute tensors ahead of the loops of a module of the same text.

    ``inlined``: loops whose steps take their place, by number, each ahead of those inside it, and
    what they count through.
    """
    operations = list(nested_ops(module))
    for each in ahead:
        loop = operations[each.place]
        with module.context, loop.location:
            _distribute(operations, loop, each)
    for place, steps in reversed([*inlined.items()]):
        inline(operations[place], steps)
    for op in module.regions[0].blocks[0].operations:
        if op.operation.regions and "sym_name" in op.operation.attributes:
            erase_dead_ops(op)


def _distribute(operations: Sequence[Any], loop: Any, each: AheadOfLoop) -> None:
    graph, block = each.found.graph, loop.regions[0].blocks[0]

    def value_of(tensor: int) -> Any:
        number, position, is_argument = each.values[tensor]
        held = operations[number]
        if is_argument:
            return held.regions[0].blocks[0].arguments[position]
        return held.results[position]

    leaves = [value_of(t) for t in each.found.leaves.values()]
    for value in leaves:  # a constant may stand inside
        if not isinstance(value.owner, ir.Block) and value.owner.operation.block == block:
            value.owner.operation.move_before(loop)
    results = list(dict.fromkeys(found.tensor for found in each.found.results.values()))
    text = function_text(graph, each.found.leaves, results, "ahead")
    made = dict(zip(results, _inlined(text, leaves, loop), strict=True))
    step = as_index(block.arguments[0])
    first = block.operations[0] if step == block.arguments[0] else block.operations[1]
    for tensor, found in each.found.results.items():
        old = value_of(tensor)
        kind = TensorType(graph.types[found.tensor].shape[1:], graph.types[found.tensor].element)
        row = _row_text(graph, found, kind, each.steps)
        (new,) = _inlined(row, [made[found.tensor], step], first)
        old.replace_all_uses_with(new)


def _row_text(graph: Graph, found: AheadResult, kind: TensorType, steps: range) -> str:
    """A function that takes what holds all steps, and the loop's variable, and returns one row."""
    whole = graph.types[found.tensor]
    lines = []
    place = "%step"
    if found.backwards or steps.start:
        end = steps[-1] if found.backwards else steps.start
        ends = ("%end", place) if found.backwards else (place, "%end")
        lines.append(f"%end = arith.constant {end} : index")
        lines.append("%far = arith.subi {}, {} : index".format(*ends))
        place = "%far"
    if steps.step != 1:
        lines.append(f"%by = arith.constant {steps.step} : index")
        lines.append(f"%row = arith.divui {place}, %by : index")
        place = "%row"
    offsets = ", ".join([place, *("0" for _ in kind.shape)])
    sizes = ", ".join(map(str, (1, *kind.shape)))
    strides = ", ".join("1" for _ in whole.shape)
    return "\n".join(
        [
            f"func.func @row(%all: {whole}, %step: index) -> {kind} {{",
            *lines,
            f"%slice = tensor.extract_slice %all[{offsets}] [{sizes}] [{strides}] "
            f": {whole} to {kind}",
            f"return %slice : {kind}",
            "}",
        ]
    )


def _inlined(text: str, operands: Sequence[Any], ahead_of: Any) -> list[Any]:
    """Put what a function computes of operands in front of an op; its results."""
    module = ir.Module.parse(text)
    (function,) = module.body.operations
    body = function.operation.regions[0].blocks[0]
    for argument, value in zip(body.arguments, operands, strict=True):
        argument.replace_all_uses_with(value)
    *made, end = body.operations
    results = list(end.operation.operands)
    for operation in made:
        operation.operation.move_before(ahead_of)
    return results
