"""What a tensor is computed from, back to the constants."""

from __future__ import annotations

from heapq import heappop, heappush

from layoutopt.ir.graph import Constant, Graph, Op


def backward_slice(graph: Graph, tensor: int) -> tuple[tuple[Op, ...], tuple[int, ...]]:
    """The ops that make a tensor, in order, and the constants that these read.

    Of several ways to make an operand those count that come before its reader.
    """
    ops: list[int] = []
    leaves: set[int] = set()
    waiting = sorted(-op for op in graph.producers[tensor])  # a heap: the last one comes out first
    seen = set(waiting)
    while waiting:
        index = -heappop(waiting)
        op = graph.ops[index]
        if isinstance(op, Constant):
            leaves.add(index)
            continue
        ops.append(index)
        for maker in {m for t in op.inputs for m in graph.producers[t]}:
            early = maker < index or isinstance(graph.ops[maker], Constant)
            if early and -maker not in seen:
                seen.add(-maker)
                heappush(waiting, -maker)
    made = (graph.ops[index] for index in reversed(ops))
    return tuple(made), tuple(t for index in sorted(leaves) for t in graph.ops[index].outputs)
