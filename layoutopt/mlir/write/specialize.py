"""Put several plans in place of the ops of one function, each for a range of its sizes.

    %r = op %x; use %r   ->     cond_br (%size <= boundary), ^one, ^other
                              ^one:           %r0 = one plan;    br ^rest(%r0)
                              ^other:         %r1 = the other;   br ^rest(%r1)
                              ^rest(%r):      use %r

Blocks, and no regions of an ``scf.if``: there IREE 3.13 does not compute ahead of time what ops
make of constants (weights in tiles of its own), so that each call would. Weights that several plans
hold in the same layout are one global; others are packed once for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, cf

from layoutopt.ir.lowered import Lowered
from layoutopt.ir.size_range import Ranges
from layoutopt.mlir.read.lift import Lifted
from layoutopt.mlir.write.splice import (
    ParsedPlan,
    cast_to,
    connected,
    erase_dead,
    parsed_plan,
    read_by,
)
from layoutopt.mlir.write.weight_globals import WeightGlobals

Branch = tuple[Ranges, Lowered]
"""The sizes that a plan serves, and the plan."""


def splice_branches(lifted: Lifted, branches: Sequence[Branch], weights: WeightGlobals) -> None:
    """Replace the lifted ops by plans that are told apart by the sizes at run time.

    The last one serves all sizes that the others do not. ``weights``: see `splice`. Raises
    LoweringError where MLIR refuses the new ops.
    """
    with lifted.block.owner.context:
        bodies = [
            _Body(ranges, lowered, parsed_plan(lifted, lowered, weights))
            for ranges, lowered in branches
        ]
        stages = [body.connect(lifted) for body in bodies]
        names = {r.name for ranges, _ in branches for r in ranges}
        stages += [lifted.sizes.stages[name] for name in names]
        behind = lifted.kept[max(stages)].operation
        olds = [lifted.values[t] for t in branches[0][1].planned_outputs]
        rest = _split(behind, [value.type for value in olds])
        with behind.location:
            _branch(lifted, bodies, lifted.block, rest)
        for old, new in zip(olds, rest.arguments, strict=True):
            old.replace_all_uses_with(new)
        for body in bodies:
            body.parsed.planned.operation.erase()
        erase_dead(lifted)


class _Body:
    """One of the plans, as a function whose ops are yet to be moved."""

    def __init__(self, ranges: Ranges, lowered: Lowered, parsed: ParsedPlan) -> None:
        self.ranges = ranges
        self.lowered = lowered
        self.parsed = parsed
        self.block = parsed.planned.operation.regions[0].blocks[0]
        *self.operations, self.terminator = [op.operation for op in self.block.operations]

    def connect(self, lifted: Lifted) -> int:
        """Let it read the model's values; how many kept ops must come before it."""
        stage = connected(self.block, lifted, self.lowered, self.parsed.symbols)
        return max((stage.get(v, 0) for op in self.operations for v in read_by(op)), default=0)

    def move_to(self, block: Any, rest: Any) -> None:
        """Move it to the end of a block that hands on its results to ``rest``."""
        results = dict(zip(self.lowered.outputs, self.terminator.operands, strict=False))
        made = [results[t] for t in self.lowered.planned_outputs]
        for op in self.operations:
            block.append(op)
        closing = cf.BranchOp(made, rest, ip=ir.InsertionPoint(block))
        for place, argument in enumerate(rest.arguments):
            if made[place].type != argument.type:
                cast = cast_to(made[place], argument.type, closing)
                closing.operation.operands[place] = cast


def _split(first: Any, types: Sequence[Any]) -> Any:
    """A block behind that of ``first``, for it and all ops behind it; ``types``: of arguments."""
    block = first.block
    rest = block.create_after(*types, arg_locs=[first.location] * len(types))
    operations = [op.operation for op in block.operations]
    for op in operations[operations.index(first) :]:
        rest.append(op)
    return rest


def _branch(lifted: Lifted, bodies: Sequence[_Body], block: Any, rest: Any) -> None:
    """Go on from the end of a block to the body whose sizes are those at run time."""
    first, *others = bodies
    own, other = (rest.create_before() for _ in range(2))
    with ir.InsertionPoint(block):
        cf.CondBranchOp(_condition(lifted, first.ranges), [], [], own, other)
    first.move_to(own, rest)
    if len(others) == 1:
        others[0].move_to(other, rest)
    else:
        _branch(lifted, others, other, rest)


def _condition(lifted: Lifted, ranges: Ranges) -> Any:
    """Whether the sizes at run time are those of a body."""
    parts = []
    for each in ranges:
        size = lifted.sizes.values[each.name]
        ends = ((each.above, arith.CmpIPredicate.sgt), (each.up_to, arith.CmpIPredicate.sle))
        for end, predicate in ends:
            if end is not None:
                number = arith.ConstantOp(ir.IndexType.get(), end)
                parts.append(arith.CmpIOp(predicate, size, number.result).result)
    found = parts[0]
    for part in parts[1:]:
        found = arith.AndIOp(found, part).result
    return found
