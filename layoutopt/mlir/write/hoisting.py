"""Compute ahead of time what a plan computes from weights alone.

    w' = transpose(w); y = matmul(x, w')      ->      y = matmul(x, w'), with w' hoisted

Weights that are constants of the module are folded when it is compiled. Parameters are not there
then: what is computed from them is priced as a weight that lies ready, and so has to be one. So has
what a data-tiled contraction reads: IREE 3.13 lays a part of a constant out anew in the dispatch of
the contraction, in each run and on the stack, which is too small for it. What only reshapes, or
spreads a small tensor out, stays with the op that reads it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from layoutopt.ir.dead_code import live_ops
from layoutopt.ir.graph import Graph, Op, Reshape, Structured, needs_open_sizes
from layoutopt.ir.lowered import HoistedWeight, Lowered


def hoist_weights(
    lowered: Lowered, constants: Collection[int], external: Collection[int]
) -> Lowered:
    """The same plan with more hoisted weights: computed from parameters, or read data-tiled.

    ``constants``: tensors of the model that are constants; ``external``: those among them that
    are parameters.
    """
    tiled = _read_data_tiled(lowered.graph)
    if not (external or tiled):
        return lowered
    model = {planned: t for t, planned in lowered.inputs.items()}
    leaves = {planned for planned, t in model.items() if t in constants}
    graph = lowered.graph
    known = set(leaves)
    read = set(lowered.made)
    computed: list[Op] = []
    for op in graph.ops:
        if all(t in known for t in op.inputs) and not needs_open_sizes(op):
            known.update(op.outputs)
            computed.append(op)
        else:
            read.update(op.inputs)
    ahead = replace(graph, ops=tuple(computed), names=())
    hoisted = list(lowered.hoisted)
    ready: set[int] = set()
    for op in computed:
        for tensor in op.outputs:
            if tensor not in read:
                continue
            whole = _ancestors(ahead, tensor, leaves)
            sources = [t for t in whole.inputs if tensor in tiled or model[t] in external]
            if sources and _saves_work_and_memory(whole, tensor, sources):
                inputs = {model[t]: t for t in whole.inputs}
                hoisted.append(HoistedWeight(whole, inputs, tensor, tensor))
                ready.add(tensor)
    kept, _ = live_ops(graph.ops, lowered.made, ready)
    planned = replace(graph, ops=kept, names=())
    return replace(lowered, graph=planned, hoisted=tuple(hoisted))


def _read_data_tiled(graph: Graph) -> frozenset[int]:
    """What data-tiled contractions read."""
    ops = (op for op in graph.ops if isinstance(op, Structured) and op.data_tiled)
    return frozenset(tensor for op in ops for tensor in op.inputs)


def _ancestors(graph: Graph, tensor: int, leaves: Collection[int]) -> Graph:
    """What it takes to compute a tensor; its inputs are the leaves that are read."""
    ops, needed = live_ops(graph.ops, [tensor])
    inputs = tuple(t for t in sorted(needed) if t in leaves)
    return Graph(graph.types, ops, inputs, (tensor,))


def _saves_work_and_memory(graph: Graph, tensor: int, sources: list[int]) -> bool:
    size = sum(graph.types[t].size_bytes for t in sources)
    moves = any(not isinstance(op, Reshape) for op in graph.ops)
    return moves and graph.types[tensor].size_bytes <= size
