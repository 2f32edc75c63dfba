"""What the integers of a function's arguments stand for: numbers, or positions in a table."""

from __future__ import annotations

from layoutopt.ir.graph import Extension, Gather, Graph, Op, Opaque, Structured
from layoutopt.verification.input_kinds import Integers, Role

_POSITIONS = ("arith.index_cast", "arith.index_castui", "tensor.extract", "memref.load")


def integers_of(graph: Graph, tensor: int) -> Integers:
    """What becomes of the integers of a tensor, followed through the ops that keep them integers.

    The rows of the smallest table that they are positions in; a role where they reach none.
    """
    seen: dict[int, None] = {}
    waiting = [tensor]
    rows: list[int] = []
    known = True
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen[current] = None
        for op in map(graph.ops.__getitem__, graph.consumers[current]):
            if isinstance(op, Gather) and op.indices == current:
                rows.append(graph.types[op.table].shape[op.axis])
                continue
            if isinstance(op, Extension) and current in (counts := op.positions(graph.types)):
                rows += counts[current]
                continue
            known = known and not _hides(op)
            waiting += [t for t in op.outputs if graph.types[t].element.lstrip("u").startswith("i")]
    if rows:
        return min(rows)
    return Role.NUMBER if known else Role.UNKNOWN


def _hides(op: Op) -> bool:
    """Whether integers may be used as positions where the graph cannot see it."""
    if isinstance(op, Opaque):
        return op.name not in ("hal.tensor.export", "hal.tensor.barrier")
    return isinstance(op, Structured) and any(o.name in _POSITIONS for o in op.body.ops)
