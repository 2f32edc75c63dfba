"""Compute ahead of time what a plan computes from weights alone.

    w' = transpose(w); y = matmul(x, w')      ->      y = matmul(x, w'), with w' hoisted

Weights that are constants of the module are folded when it is compiled. Parameters are not there
then: what is computed from them is priced as a weight that lies ready, and so has to be one. So has
what a data-tiled contraction reads: IREE 3.13 lays a part of a constant out anew in the dispatch of
the contraction, in each run and on the stack, which is too small for it. And what one with a
schedule reads: a transpose of a constant is moved into it, and changes the loops that the schedule
is for (32x64 by 64x64 takes 11.7 us in place of 2.6). What only reshapes, or spreads a small tensor
out, stays with the op that reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from layoutopt.ir.dead_code import live_ops
from layoutopt.ir.graph import Graph, Op, Reshape, Structured, needs_open_sizes
from layoutopt.ir.lowered import HoistedWeight, Lowered
from layoutopt.ir.renaming import renumbered


def hoist_weights(
    lowered: Lowered, constants: Collection[int], external: Collection[int]
) -> Lowered:
    """The same plan with more hoisted weights: of parameters, or read data-tiled or by a schedule.

    ``constants``: tensors of the model that are constants; ``external``: those among them that
    are parameters.
    """
    lying = _read_as_they_lie(lowered.graph)
    if not (external or lying):
        return lowered
    model = {planned: t for t, planned in lowered.inputs.items()}
    made = {w.planned_tensor: w for w in lowered.hoisted}
    leaves = {*made, *(planned for planned, t in model.items() if t in constants)}
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
            sources = [t for t in whole.inputs if tensor in lying or model.get(t) in external]
            if sources and _saves_work_and_memory(whole, tensor, sources):
                hoisted.append(_of_constants(whole, tensor, model, made))
                ready.add(tensor)
    kept, needed = live_ops(graph.ops, lowered.made, ready)
    planned = replace(graph, ops=kept, names=())
    read_still = tuple(w for w in hoisted if w.planned_tensor in needed)
    return replace(lowered, graph=planned, hoisted=read_still)


def _of_constants(
    whole: Graph, tensor: int, model: Mapping[int, int], made: Mapping[int, HoistedWeight]
) -> HoistedWeight:
    """What a graph computes of constants and of other hoisted weights, of constants alone."""
    types, ops = list(whole.types), list[Op]()
    inputs = {model[t]: t for t in whole.inputs if t not in made}
    for source in whole.inputs:
        if source not in made:
            continue
        weight = made[source]
        number = {own: len(types) + own for own in range(len(weight.graph.types))}
        types += weight.graph.types
        number[weight.result] = source
        for constant, own in weight.inputs.items():
            number[own] = inputs.setdefault(constant, number[own])
        ops += (renumbered(op, number) for op in weight.graph.ops)
    graph = Graph(tuple(types), (*ops, *whole.ops), tuple(inputs.values()), (tensor,))
    return HoistedWeight(graph, inputs, tensor, tensor)


def _read_as_they_lie(graph: Graph) -> frozenset[int]:
    """What contractions read that are data-tiled, or have a schedule; reshapes aside."""
    found: set[int] = set()
    for op in reversed(graph.ops):
        if isinstance(op, Reshape) and op.result in found:
            found.add(op.source)
        if not isinstance(op, Structured):
            continue
        if op.data_tiled or (op.schedule is not None and op.is_contraction):
            found.update(op.inputs)
    return frozenset(found)


def _ancestors(graph: Graph, tensor: int, leaves: Collection[int]) -> Graph:
    """What it takes to compute a tensor; its inputs are the leaves that are read."""
    ops, needed = live_ops(graph.ops, [tensor])
    inputs = tuple(t for t in sorted(needed) if t in leaves)
    return Graph(graph.types, ops, inputs, (tensor,))


def _saves_work_and_memory(graph: Graph, tensor: int, sources: list[int]) -> bool:
    size = sum(graph.types[t].size_bytes for t in sources)
    moves = any(not isinstance(op, Reshape) for op in graph.ops)
    return moves and graph.types[tensor].size_bytes <= size
