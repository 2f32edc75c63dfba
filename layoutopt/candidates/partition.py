"""The partition of a model's ops: each with those that IREE is expected to run in its dispatch.

A contraction, convolution or pooling takes along the elementwise ops behind it; elementwise ops
and reductions without one stay together, and so do those that read what a gather looks up.
Everything else stands alone.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from layoutopt.ir.affine import plain_dims
from layoutopt.ir.graph import Constant, Gather, Graph, Op, Opaque, Reshape, Structured
from layoutopt.ir.roles import is_windowed
from layoutopt.ir.size import planned

LARGEST = 32
"""Ops in one cluster at most: beyond that a benchmark no longer resembles one dispatch."""


def is_root(op: Op) -> bool:
    """Whether an op's loops shape its dispatch: contraction, convolution, pooling."""
    if not isinstance(op, Structured):
        return False
    return op.is_contraction or is_windowed(op)


def is_transpose(op: Op) -> bool:
    """Whether an op only reorders the dims of its input."""
    if not isinstance(op, Structured) or not op.is_copy or len(op.maps) != 2:
        return False
    source, result = plain_dims(op.maps[0]), plain_dims(op.maps[1])
    return source is not None and result is not None and sorted(source) == sorted(result)


def is_light(op: Op) -> bool:
    """Whether an op shares the dispatch of another: elementwise, a reduction, a reshape."""
    return isinstance(op, Reshape) or (
        isinstance(op, Structured) and not is_root(op) and not is_transpose(op)
    )


def leads_light(op: Op) -> bool:
    """Whether elementwise ops and reductions that read an op's result share its dispatch."""
    return isinstance(op, Gather) or (is_light(op) and not isinstance(op, Reshape))


def partition_of(graph: Graph, ops: Iterable[int]) -> list[tuple[int, ...]]:
    """The clusters of ops that come one after the other, but for what constants compute.

    Each has its ops in the order in which they come.
    """
    ops = tuple(ops)
    order = {index: position for position, index in enumerate(ops)}
    members: dict[int, list[int]] = {}
    owner: dict[int, int] = {}
    for index in ops:
        op = graph.ops[index]
        if isinstance(op, Constant) or all(t in graph.constants for t in op.outputs):
            continue
        home = _home(graph, index, owner, members, order.keys())
        members.setdefault(home, []).append(index)
        for tensor in op.outputs:
            owner[tensor] = home
        if home != index and _absorb(graph, index, owner, members):
            members[home].sort(key=order.__getitem__)
    return [
        tuple(found) for home, found in members.items() if not isinstance(graph.ops[home], Opaque)
    ]


def _home(
    graph: Graph,
    index: int,
    owner: dict[int, int],
    members: dict[int, list[int]],
    own: Container[int],
) -> int:
    """The cluster that op ``index`` joins, or its own; ``own``: all ops that are parted."""
    op = graph.ops[index]
    if not is_light(op):
        return index
    homes = sorted({owner[t] for t in op.inputs if t in owner}, reverse=True)
    for home in homes:
        shared = [t for t in op.inputs if owner.get(t) == home]
        if len(members[home]) >= LARGEST or not all(
            _joins(graph, op, home, t, own) and not _is_kept_for_later(graph, index, t, own)
            for t in shared
        ):
            continue
        others = [owner[t] for t in op.inputs if t in owner and owner[t] != home]
        if not any(_reaches(graph, owner, members, home, other) for other in others):
            return home
    return index


def _absorb(graph: Graph, index: int, owner: dict[int, int], members: dict[int, list[int]]) -> bool:
    """Have elementwise ops that feed op ``index`` alone share the cluster that it has joined.

    One half of a GELU, say, which reads what the other half starts from. Returns whether there were
    any: they are then behind the others.
    """
    op = graph.ops[index]
    home = owner[op.outputs[0]]
    if not isinstance(op, Structured) or not leads_light(graph.ops[home]):
        return False
    absorbed = False
    for tensor, index_map in zip(op.sources, op.source_maps, strict=True):
        other = owner.get(tensor, home)
        dims = plain_dims(index_map)
        if other == home or dims is None or len(dims) != len(op.domain):
            continue
        inside = {*members[other], index}
        made = {t for i in members[other] for t in graph.ops[i].outputs}
        read = {t for i in members[other] for t in graph.ops[i].inputs} - made
        if (
            all(is_pointwise(graph.ops[i]) for i in members[other])
            and not any(t in graph.outputs or set(graph.consumers[t]) - inside for t in made)
            and len(members[home]) + len(members[other]) <= LARGEST
            and not any(_reaches(graph, owner, members, home, owner[t]) for t in read if t in owner)
        ):
            members[home] += members.pop(other)
            owner.update(dict.fromkeys(made, home))
            absorbed = True
    return absorbed


def _joins(graph: Graph, op: Op, home: int, tensor: int, own: Container[int]) -> bool:
    first = graph.ops[home]
    if leads_light(first):
        return True
    if not is_root(first):
        return False
    if not isinstance(op, Structured) or not op.is_elementwise or tensor in graph.outputs:
        return False
    dims = plain_dims(op.source_maps[op.sources.index(tensor)]) if tensor in op.sources else None
    if dims is None or len(dims) != len(op.domain):
        return False
    return all(is_elementwise(graph.ops[c]) for c in graph.consumers[tensor] if c in own)


def _is_kept_for_later(graph: Graph, index: int, tensor: int, own: Container[int]) -> bool:
    """Whether an op repeats a tensor that is computed point by point and stored for later ops.

    A mask that all heads of a layer add, say, and those of the layers behind it: the loops of the
    mask are fewer, so that IREE stores it in a dispatch of its own. Later are those that wait for
    the op's result by way of what leads a dispatch.
    """
    op = graph.ops[index]
    later = {c for c in graph.consumers[tensor] if c > index and c in own}
    if not later or not isinstance(op, Structured) or tensor not in op.sources:
        return False
    read = {d for form in op.maps[op.sources.index(tensor)] for d in form.dims}
    repeats = any(planned(n) > 1 for d, n in enumerate(op.domain) if d not in read)
    if not repeats or not is_pointwise(_computing(graph, tensor)):
        return False
    last = max(later)
    beside = _behind(graph, index, last, light=True)  # what may share the op's dispatch
    return not (later - beside).isdisjoint(_behind(graph, index, last, light=False))


def _behind(graph: Graph, index: int, last: int, *, light: bool) -> set[int]:
    """The op and those that depend on it, none behind ``last``; ``light``: by light ops alone."""
    found, pending = {index}, [index]
    while pending:
        readers = {c for made in graph.ops[pending.pop()].outputs for c in graph.consumers[made]}
        more = {c for c in readers - found if c <= last and (not light or is_light(graph.ops[c]))}
        found |= more
        pending += more
    return found


def _computing(graph: Graph, tensor: int) -> Op:
    """The op that makes a tensor, or what it is a reshape of."""
    op = graph.ops[graph.producers[tensor][0]]
    while isinstance(op, Reshape) and graph.producers[op.source]:
        op = graph.ops[graph.producers[op.source][0]]
    return op


def is_elementwise(op: Op) -> bool:
    """Whether an op computes point by point, and neither transposes nor reads through windows."""
    return (
        isinstance(op, Structured)
        and op.is_elementwise
        and not is_transpose(op)
        and (not is_root(op))
    )


def is_pointwise(op: Op) -> bool:
    """Whether each element of an op's result is computed by itself: elementwise, or looked up."""
    return is_elementwise(op) or isinstance(op, Gather)


def _reaches(
    graph: Graph, owner: dict[int, int], members: dict[int, list[int]], start: int, goal: int
) -> bool:
    """Whether cluster ``goal`` depends on cluster ``start``."""
    pending, seen = [goal], {goal}
    while pending:
        at = pending.pop()
        if at == start:
            return True
        for index in members[at]:
            for tensor in graph.ops[index].inputs:
                home = owner.get(tensor)
                if home is not None and home not in seen:
                    seen.add(home)
                    pending.append(home)
    return False
