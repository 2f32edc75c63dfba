"""Put several plans in place of the ops of one block, each for a range of its sizes.

    %r = op %x      ->      %small = cmpi sle, %size, %boundary
                            %r = scf.if %small { %r0 = one plan; yield %r0 }
                                          else { %r1 = the other; yield %r1 }

Weights that several plans hold in the same layout are one global; others are packed once for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, scf

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
        outputs = branches[0][1].planned_outputs
        olds = [lifted.values[t] for t in outputs]
        with ir.InsertionPoint(behind), behind.location:
            made = _branched(lifted, bodies, olds)
        for old, new in zip(olds, made, strict=True):
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

    def yield_in(self, block: Any, olds: Sequence[Any]) -> None:
        """Move it to the end of a block, which hands on its results in the types of ``olds``."""
        results = dict(zip(self.lowered.outputs, self.terminator.operands, strict=False))
        made = [results[t] for t in self.lowered.planned_outputs]
        for op in self.operations:
            block.append(op)
        closing = scf.YieldOp(made, ip=ir.InsertionPoint(block))
        for place, old in enumerate(olds):
            if made[place].type != old.type:
                closing.operation.operands[place] = cast_to(made[place], old.type, closing)


def _branched(lifted: Lifted, bodies: Sequence[_Body], olds: Sequence[Any]) -> list[Any]:
    """The bodies in the branches of ``scf.if``, at the place where ops are being inserted."""
    first, *others = bodies
    chosen = scf.IfOp(_condition(lifted, first.ranges), [v.type for v in olds], has_else=True)
    first.yield_in(chosen.then_block, olds)
    if len(others) == 1:
        others[0].yield_in(chosen.else_block, olds)
    else:
        with ir.InsertionPoint(chosen.else_block):
            scf.YieldOp(_branched(lifted, others, olds))
    return list(chosen.results)


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
