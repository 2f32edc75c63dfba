"""Whether all ops that a plan writes anew can stand at one place of their block.

Several bodies of one function stand in branches: all that they read has to be there ahead of the
first branch, and all that reads their results has to stand behind the last one.
"""

from __future__ import annotations

from typing import Any

from layoutopt.ir.graph import Constant, Opaque
from layoutopt.ir.size import symbols
from layoutopt.mlir.read.lift import Lifted


def torn_by(lifted: Lifted) -> str:
    """An op that stays between those that a plan writes anew; empty where none does."""
    graph = lifted.graph
    planned = [op for op in graph.ops if not isinstance(op, Constant | Opaque)]
    read = {t for op in planned for t in op.inputs if t in lifted.stages}
    sizes = {
        s.name
        for op in planned
        for t in (*op.inputs, *op.outputs)
        for n in graph.types[t].shape
        for s in symbols(n)
    }
    ahead = max(
        [*(lifted.stages[t] for t in read), *(lifted.sizes.stages[name] for name in sizes)],
        default=0,
    )
    made = {t for op in planned for t in op.outputs}
    results = [lifted.values[t] for t in graph.outputs if t in made]
    early = {op.operation for op in lifted.kept[:ahead]}
    for value in results:
        for use in value.uses:
            reader = _in_block(use.owner.operation, lifted.block)
            if reader in early:
                return str(reader.name)
    return ""


def _in_block(operation: Any, block: Any) -> Any:
    """The op of a block that an op is, or stands in."""
    while operation.block != block:
        operation = operation.parent.operation
    return operation
