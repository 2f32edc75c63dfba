"""What a tensor is computed from, back to constants and inputs."""

from __future__ import annotations

from heapq import heappop, heappush

from layoutopt.ir.graph import Constant, Graph, Op


def backward_slice(graph: Graph, tensor: int) -> tuple[tuple[Op, ...], tuple[int, ...]]:
    """The ops that make a tensor, in order, and the inputs and constants that these read.

    Of several ways to make one the first counts: each tensor is made once, before its readers. An
    input that is asked for is a leaf of its own.
    """
    given = {*graph.inputs}
    if tensor in given:
        return (), (tensor,)
    ops: list[int] = []
    leaves: set[int] = set()
    inputs: set[int] = set()
    waiting = [-graph.producers[tensor][0]]  # a heap: the last one comes out first
    seen = set(waiting)
    while waiting:
        index = -heappop(waiting)
        op = graph.ops[index]
        if isinstance(op, Constant):
            leaves.add(index)
            continue
        ops.append(index)
        inputs.update(given.intersection(op.inputs))
        for maker in {graph.producers[t][0] for t in op.inputs if t not in given}:
            if -maker not in seen:
                seen.add(-maker)
                heappush(waiting, -maker)
    made = (graph.ops[index] for index in reversed(ops))
    constants = (t for index in sorted(leaves) for t in graph.ops[index].outputs)
    return tuple(made), (*sorted(inputs), *constants)


def computed_from(graph: Graph, tensor: int) -> set[int]:
    """All tensors that one is computed from, in any of the ways that the graph has."""
    found: set[int] = set()
    pending = [tensor]
    while pending:
        more = {t for p in graph.producers[pending.pop()] for t in graph.ops[p].inputs} - found
        found |= more
        pending += more
    return found
