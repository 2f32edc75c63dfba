"""Weights of several functions: which of them are one, and how much memory they take."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace

from layoutopt.ir.graph import Constant, Graph, Insert, Op, Slice, Structured
from layoutopt.ir.renaming import counted_from_zero
from layoutopt.ir.roles import roles
from layoutopt.ir.size import planned


def weight_bytes(graphs: Iterable[Graph]) -> int:
    """Bytes of the constants that functions read, each once; splats are left out."""
    sizes: dict[Hashable, int] = {}
    for place, graph in enumerate(graphs):
        names = constant_names(graph, place)
        for op in graph.ops:
            if isinstance(op, Constant) and op.splat is None and graph.consumers[op.result]:
                sizes[names[op.result]] = graph.types[op.result].size_bytes
    return sum(sizes.values())


@dataclass(frozen=True, slots=True)
class WeightReuse:
    """What comes between two uses of a weight."""

    size_bytes: int = 0
    """Of weights, and of what lives between them."""
    in_loop: bool = False
    """It is a trip of a loop, which others cannot come between."""
    operations: int = 0
    """Multiplications and additions of contractions."""
    in_windows_bytes: int = 0
    """Of weights that images are convolved with: Winograd's copies take a multiple of them."""
    planned: bool = False
    """Weights are those of a plan, and no longer become more by copies in other layouts."""

    def of_plan(self, given_bytes: int, copied_bytes: int) -> WeightReuse:
        """The same with a plan's copies in place of the weights that were given.

        Where copies take less than what was given, some is read as it was.
        """
        more = max(0, copied_bytes - given_bytes)
        return replace(self, size_bytes=self.size_bytes + more, planned=True)


ONCE = WeightReuse()
"""Nothing that is known of."""


def weight_reuse(graphs: Iterable[Graph], trips: Iterable[int] = ()) -> WeightReuse:
    """What a run goes through between two uses of a weight.

    ``trips``: how often each graph runs in a row, once where none are given. Where loops read most
    of the weights that a run reads, it is what one trip of the loop that reads most goes through.
    Dims that are known at run time only count as what is planned for.
    """
    graphs = list(graphs)
    counts = list(trips) or [1] * len(graphs)
    read = [weight_bytes([graph]) * n for graph, n in zip(graphs, counts, strict=True)]
    loops = [place for place, n in enumerate(counts) if n > 1]
    in_loop = 2 * sum(read[place] for place in loops) > sum(read)
    if in_loop:
        graphs, counts = [graphs[max(loops, key=read.__getitem__)]], [1]
    most = max((_most_alive(graph, in_loop) for graph in graphs), default=0)
    operations = sum(_operations(graph) * n for graph, n in zip(graphs, counts, strict=True))
    in_windows = sum(map(_in_windows_bytes, graphs))
    return WeightReuse(weight_bytes(graphs) + most, in_loop, operations, in_windows)


def _operations(graph: Graph) -> int:
    """Of its contractions, at the sizes that are planned for."""
    found = (op for op in graph.ops if isinstance(op, Structured) and op.is_contraction)
    return sum(2 * math.prod(map(planned, op.domain)) for op in found)


def _in_windows_bytes(graph: Graph) -> int:
    read = {
        t
        for op in graph.ops
        if isinstance(op, Structured) and op.is_contraction and _has_windows(op)
        for t in op.inputs
        if t in graph.constants and t not in graph.splats
    }
    return sum(graph.types[t].size_bytes for t in read)


def _has_windows(op: Structured) -> bool:
    """Of more than one element: a convolution of 1x1 is a matmul."""
    return any(op.domain[d] != 1 for d in roles(op).window)


def _most_alive(graph: Graph, in_loop: bool) -> int:
    """Bytes of the tensors that are alive at once, at most, as ops come one after another.

    Not of weights, nor of what is computed of them ahead of time. ``in_loop``: of what a trip only
    takes slices of, or writes a part of, the rest is for other trips.
    """
    sizes = [kind.size_bytes for kind in graph.types]
    last = {t: place for place, op in enumerate(graph.ops) for t in op.inputs}
    last |= dict.fromkeys(graph.outputs, len(graph.ops))
    if in_loop:
        for op in graph.ops:
            if isinstance(op, Slice) and op.source in graph.inputs:
                sizes[op.source] = 0
            if isinstance(op, Insert):
                sizes[op.destination] = sizes[op.result] = 0
    alive = {t for t in graph.inputs if t in last}
    most = 0
    for place, op in enumerate(graph.ops):
        alive |= {t for t in op.outputs if t in last and t not in graph.constants}
        most = max(most, sum(sizes[t] for t in alive))
        alive -= {t for t in op.inputs if last[t] == place}
    return most


def constant_names(graph: Graph, place: int) -> dict[int, Hashable]:
    """What tells the constants of function ``place`` from others, in all functions of a module."""
    found = (op.result for op in graph.ops if isinstance(op, Constant))
    return {t: graph.weight_names.get(t, (place, t)) for t in found}


def meaning(graph: Graph, tensor: int, names: Mapping[int, Hashable]) -> Hashable:
    """What a tensor is computed from, and how: the same for tensors that are equal for certain.

    ``graph`` makes each tensor once; ``names``: of the constants that it starts from.
    """
    makers = {t: op for op in graph.ops for t in op.outputs}
    ordered: dict[Op, None] = {}
    waiting = [tensor]
    while waiting:
        op = makers.get(waiting[-1])
        made = [] if op is None else [t for t in op.inputs if t in makers]
        missing = [t for t in made if makers[t] not in ordered]
        if missing:
            waiting.append(missing[0])
            continue
        if op is not None:
            ordered[op] = None
        waiting.pop()
    ops, tensors = counted_from_zero(ordered)
    leaves = tuple(names[t] if t not in makers else None for t in tensors)
    if not ops:
        return names[tensor]
    return ops, tuple(graph.types[t] for t in tensors), leaves, tensors.index(tensor)
