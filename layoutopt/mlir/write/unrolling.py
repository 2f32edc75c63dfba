"""Unroll loops: one trip runs several steps, and what a trip costs beside its ops is paid once.

IREE records the commands of each trip anew, and copies each tensor that a trip changes a part of:
a recurrent layer that writes one row a step copies all rows each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Graph, Op, Reshape, Slice
from layoutopt.ir.size import Size, symbols
from layoutopt.ir.steps import Steps
from layoutopt.mlir.read.census import census
from layoutopt.mlir.read.lift import Lifted
from layoutopt.mlir.read.nested import nested_ops
from layoutopt.mlir.read.sizes import arith_op, constant_op
from layoutopt.mlir.write.constants_ahead import move_constants_ahead

_MOST_OPS = 2048
"""Ops of all steps of a trip, at most: they take seconds to compile."""
_MOST_OPEN = 32
"""Steps of a trip, at most, where it is not known how many there are."""
_LEFT_OVER = 8
"""Steps in a trip of those that are left over where a trip has twice as many or more."""


def unroll_loops(module: Any, blocks: Sequence[Lifted]) -> dict[str, int]:
    """Unroll the innermost loops that count; by name of the block, the steps of a trip.

    Not in a function in whose loops data moves, for each copy of the op would: what is counted in
    a module is what it holds.
    """
    moving = {move.function for move in census(module).runs if move.inside.startswith("scf.")}
    around = {block.enclosing for block in blocks}
    found: dict[str, int] = {}
    for block in blocks:
        if block.steps is None or block.function in moving or block.shown in around:
            continue
        factor = _factor(block.steps.count, _run_ops(block.graph))
        if factor > 1:
            loop = block.block.owner.operation
            move_constants_ahead(loop)
            unroll(loop, block.steps, factor)
            found[block.shown] = factor
    return found


def of_layers(blocks: Sequence[Lifted]) -> tuple[Lifted, ...]:
    """The bodies of loops each of whose steps reads weights of its own, as layers do.

    Written one after another, the weights of each are constants that a plan can lay out. Not of
    loops that would be too many ops.
    """
    return tuple(
        block
        for block in blocks
        if (steps := _counted(block)) is not None
        and _reads_own_weights(block)
        and len(steps) * _run_ops(block.graph) <= _MOST_OPS
    )


def _counted(block: Lifted) -> range | None:
    return None if block.steps is None else block.steps.values


def _reads_own_weights(block: Lifted) -> bool:
    graph, step = block.graph, block.sizes.numbers[block.block.arguments[0]]
    return any(
        isinstance(op, Slice)
        and op.source in graph.constants
        and any(s in symbols(step) for n in op.offsets for s in symbols(n))
        for op in graph.ops
    )


def _run_ops(graph: Graph) -> int:
    return sum(_is_run(graph, op) for op in graph.ops)


def _is_run(graph: Graph, op: Op) -> bool:
    return not isinstance(op, Reshape) and not all(t in graph.constants for t in op.outputs)


def _factor(steps: int, ops: int) -> int:
    """How many steps are one trip: if possible such that none are left over."""
    most = _MOST_OPS // max(ops, 1)
    if isinstance(steps, Size):
        return min(most, _MOST_OPEN)
    most = min(steps, most)
    whole = (n for n in range(most, most // 2, -1) if steps % n == 0)
    return next(whole, most)


def unroll(loop: Any, steps: Steps, factor: int) -> None:
    """Let each trip of an ``scf.for`` run ``factor`` steps; those left over run in a second loop.

    ``steps``: what the loop counts through.
    """
    kind = loop.operands[0].type
    with loop.context, loop.location:
        with ir.InsertionPoint(loop):
            end = _end_of_trips(loop, steps, factor)
            by = constant_op(factor * steps.by, kind)
        left = steps.count if isinstance(steps.count, Size) else steps.count % factor
        behind = None if left == 0 else _split(loop, end)
        loop.operands[1], loop.operands[2] = end, by
        _repeat(loop.regions[0].blocks[0], steps.by, factor)
    many = isinstance(left, Size) or left > _LEFT_OVER
    if behind is not None and many and factor >= 2 * _LEFT_OVER:
        first = steps.last + steps.by * (1 - left)
        unroll(behind, Steps(first, steps.by, left), _LEFT_OVER)


def _end_of_trips(loop: Any, steps: Steps, factor: int) -> Any:
    """Where whole trips end, computed ahead of the loop."""
    first, end, kind = *list(loop.operands)[:2], loop.operands[0].type
    if not isinstance(steps.count, Size):
        whole = steps.count // factor * factor
        return constant_op(steps.first + whole * steps.by, kind)
    left = arith_op("subi", end, first)
    left = arith_op("maxsi", left, constant_op(0, kind))
    rest = arith_op("remui", left, constant_op(factor, kind))
    return arith_op("addi", first, arith_op("subi", left, rest))


def inline(loop: Any, steps: range) -> None:
    """Write the ops of all steps of an ``scf.for`` in its place."""
    *body, end = [op.operation for op in loop.regions[0].blocks[0].operations]
    variable, *carried = loop.regions[0].blocks[0].arguments
    values = list(loop.operands)[3:]
    with loop.context, loop.location:
        for number in steps:
            with ir.InsertionPoint(loop):
                place = constant_op(number, variable.type)
            known = {variable: place} | dict(zip(carried, values, strict=True))
            for op in body:
                _copied(op, known, ir.InsertionPoint(loop))
            values = [known.get(value, value) for value in end.operands]
    for result, value in zip(loop.results, values, strict=True):
        result.replace_all_uses_with(value)
    loop.erase()


def _split(loop: Any, start: Any) -> Any:
    """Let a copy of a loop behind it run the steps from ``start`` on; the copy."""
    results = list(loop.results)
    users = [[(use.owner, use.operand_number) for use in value.uses] for value in results]
    behind = _copied(loop, {}, ir.InsertionPoint.after(loop))
    behind.operands[0] = start
    for position, value in enumerate(results):
        behind.operands[3 + position] = value
        for owner, number in users[position]:
            owner.operation.operands[number] = behind.results[position]
    return behind


def _repeat(block: Any, step: int, factor: int) -> None:
    """Write the ops of a loop's block ``factor`` times, each reading what the one before yields."""
    *body, end = [op.operation for op in block.operations]
    variable, *carried = block.arguments
    yielded = list(end.operands)
    for number in range(1, factor):
        with ir.InsertionPoint(end):
            place = arith_op("addi", variable, constant_op(number * step, variable.type))
        known = {variable: place} | dict(zip(carried, yielded, strict=True))
        for op in body:
            _copied(op, known, ir.InsertionPoint(end))
        yielded = [known.get(value, value) for value in end.operands]
    for position, value in enumerate(yielded):
        end.operands[position] = value


def _copied(op: Any, known: dict[Any, Any], place: Any) -> Any:
    """A copy of an op that reads other values; what it and the ops inside it make becomes known."""
    copy = op.clone(place).operation
    for one, other in zip(nested_ops(op), nested_ops(copy), strict=True):
        for position, value in enumerate(one.operands):
            if value in known:
                other.operands[position] = known[value]
        known.update(zip(one.results, other.results, strict=True))
        known.update(zip(_arguments(one), _arguments(other), strict=True))
    return copy


def _arguments(operation: Any) -> Sequence[Any]:
    return [a for region in operation.regions for block in region.blocks for a in block.arguments]
