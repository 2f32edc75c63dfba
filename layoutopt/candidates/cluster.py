"""Clusters: the sets of ops that we expect IREE to put into one dispatch.

A contraction, convolution or pooling takes along the elementwise ops behind it; elementwise ops
and reductions without one stay together, with the transpose behind them or apart from it, as prices
decide. Everything else stands alone. What a rewrite made to be priced as a whole is one cluster of
several dispatches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from layoutopt.candidates.egraph import EGraph
from layoutopt.ir.affine import plain_dims
from layoutopt.ir.backward_slice import computed_from
from layoutopt.ir.graph import Constant, Graph, Op, Opaque, Reshape, Slice, Structured
from layoutopt.ir.roles import is_windowed

_LARGEST = 32
"""Ops in one cluster at most: beyond that a benchmark no longer resembles one dispatch."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Ops (indices into the graph, in order) that are priced and emitted together."""

    ops: tuple[int, ...]
    root: int
    """The op whose loops shape the dispatch: the first one, or the one behind a slice."""
    inputs: tuple[int, ...]
    """Tensors from other clusters or outside, in order of first use."""
    weights: tuple[int, ...]
    """Constants, in order of first use."""
    outputs: tuple[int, ...]
    """Tensors that others read."""
    atomic: bool = False
    """Several dispatches that get one price as a whole."""
    region: bool = False
    """One dispatch that IREE would not form by itself."""
    replaced: bool = False
    """Part of the model as it came that normalization replaced: a candidate as it came alone."""

    @property
    def beside_root(self) -> tuple[int, ...]:
        """The other ops."""
        return tuple(op for op in self.ops if op != self.root)


def form_clusters(egraph: EGraph) -> tuple[Cluster, ...]:
    """Clusters of the model's own ops, then one for each alternative root with what follows it."""
    graph = egraph.graph
    partition = partition_of(graph, range(egraph.original_ops))
    clusters = [cluster_of(graph, ops) for ops in partition]
    clusters += _with_transposes(graph, partition)
    of_result = {t: ops for ops in partition for t in graph.ops[ops[0]].outputs}
    home = {i: ops for ops in partition for i in ops}
    split: set[tuple[int, ...]] = set()
    chained: set[int] = set()
    for ops in egraph.atomic:
        behind = of_result.get(graph.ops[ops[-1]].outputs[0], ())[1:]
        clusters.append(replace(cluster_of(graph, (*ops, *behind)), atomic=True))
        chained.update(ops)
    for index in range(egraph.original_ops, len(graph.ops)):
        op = graph.ops[index]
        behind = of_result.get(op.outputs[0], ())[1:]
        if index in chained or all(t in graph.constants for t in op.outputs):
            continue
        ahead = _slice_ahead(graph, index)
        if isinstance(op, Structured) and _is_elementwise(op) and not op.is_copy and behind:
            clusters.append(cluster_of(graph, (index, *behind)))
            continue
        if isinstance(op, Structured) and op.is_contraction:
            clusters.append(cluster_of(graph, (index, *behind)))
            clusters += _behind(graph, ahead, clusters[-1])
            shared = None if behind else _with_readers(egraph, index, home)
            if shared is not None:
                whole, rest = shared
                clusters += [whole, *_behind(graph, ahead, whole)]
                if rest and rest not in split:
                    split.add(rest)
                    clusters.append(cluster_of(graph, rest))
            chain = () if behind else _chain(egraph, index)
            if chain:
                chained.update(chain)
                last = graph.ops[chain[-1]].outputs
                clusters.append(replace(cluster_of(graph, (index, *chain)), outputs=last))
                clusters += _behind(graph, ahead, clusters[-1])
            continue
        clusters.append(cluster_of(graph, (index,)))
        clusters += _behind(graph, ahead, clusters[-1])
        if behind and isinstance(op, Structured) and _is_light(op) and op.reduction_dims:
            clusters.append(cluster_of(graph, (index, *behind)))
        if behind and behind not in split:
            split.add(behind)
            clusters.append(cluster_of(graph, behind))
    return tuple(clusters)


def _with_transposes(graph: Graph, partition: Iterable[tuple[int, ...]]) -> Iterator[Cluster]:
    """The clusters of elementwise ops and reductions with the transpose that alone reads them."""
    maker = {t: ops for ops in partition for i in ops for t in graph.ops[i].outputs}
    for ops in partition:
        transpose = graph.ops[ops[0]]
        source = transpose.inputs[0] if is_transpose(transpose) else None
        ahead = maker.get(source, ()) if source is not None else ()
        if not ahead or not _is_light(graph.ops[ahead[0]]) or len(ahead) >= _LARGEST:
            continue
        readers = {c for c in graph.consumers[transpose.inputs[0]] if c not in ahead}
        if isinstance(graph.ops[ahead[0]], Reshape) or not readers <= {ops[0]}:
            continue
        if source not in graph.outputs:
            whole = cluster_of(graph, (*ahead, ops[0]))
            yield replace(whole, outputs=transpose.outputs)


def _slice_ahead(graph: Graph, index: int) -> int | None:
    """The slice that makes the first input of a contraction or of a copy of windows.

    IREE reads such an input in place, with an offset. None where there is no slice, or where
    something else makes that tensor too.
    """
    op = graph.ops[index]
    if not isinstance(op, Structured) or not is_root(op):
        return None
    makers = graph.producers[op.sources[0]]
    if len(makers) != 1 or op.sources[0] in graph.constants:
        return None
    return makers[0] if isinstance(graph.ops[makers[0]], Slice) else None


def _behind(graph: Graph, ahead: int | None, cluster: Cluster) -> list[Cluster]:
    """The cluster with the slice ahead of it inside."""
    if ahead is None:
        return []
    whole = cluster_of(graph, (ahead, *cluster.ops))
    return [replace(whole, root=cluster.root, outputs=cluster.outputs)]


def _with_readers(
    egraph: EGraph, index: int, home: dict[int, tuple[int, ...]]
) -> tuple[Cluster, tuple[int, ...]] | None:
    """An alternative contraction with the model's elementwise ops that read it, and what is left.

    These ops come first in a cluster of the model's own (``home`` of each op): the scale of
    attention scores ahead of their softmax, say. The rest of it then stands alone. None where other
    ops read the contraction too.
    """
    graph = egraph.graph
    tensor = graph.ops[index].outputs[0]
    own = [c for c in graph.consumers[tensor] if c < egraph.original_ops]
    if not own or tensor in graph.outputs or own[0] not in home:
        return None
    whole = home[own[0]]
    made, taken = {tensor}, list[int]()
    foreign = {t for i in whole for t in graph.ops[i].outputs}
    for i in whole:
        op = graph.ops[i]
        if not _is_elementwise(op) or not any(t in made for t in op.inputs):
            continue
        assert isinstance(op, Structured)
        reads = [
            plain_dims(m) for t, m in zip(op.sources, op.source_maps, strict=True) if t in made
        ]
        others = [t for t in op.inputs if t not in made]
        if (
            all(dims is not None and len(dims) == len(op.domain) for dims in reads)
            and not any(t in foreign or tensor in computed_from(graph, t) for t in others)
            and len(taken) + 1 < _LARGEST
        ):
            taken.append(i)
            made.update(op.outputs)
    if not set(own) <= set(taken):
        return None
    rest = tuple(i for i in whole if i not in taken)
    read_later = {
        t
        for i in taken
        for t in graph.ops[i].outputs
        if t in graph.outputs
        or any(c < egraph.original_ops and c not in taken for c in graph.consumers[t])
    }
    shared = cluster_of(graph, (index, *taken))
    return replace(shared, outputs=tuple(t for t in shared.outputs if t in read_later)), rest


def _chain(egraph: EGraph, index: int) -> tuple[int, ...]:
    """The alternative elementwise ops that follow an alternative contraction one by one."""
    graph = egraph.graph
    found: list[int] = []
    tensor = graph.ops[index].outputs[0]
    while tensor not in graph.outputs:
        readers = [
            c
            for c in graph.consumers[tensor]
            if c >= egraph.original_ops
            and _is_elementwise(graph.ops[c])
            and tensor not in egraph.graph.ops[c].outputs
        ]
        if len(readers) != 1 or len(found) + 1 >= _LARGEST:
            break
        op = graph.ops[readers[0]]
        assert isinstance(op, Structured)
        dims = plain_dims(op.source_maps[op.sources.index(tensor)])
        if dims is None or len(dims) != len(op.domain):
            break
        found.append(readers[0])
        tensor = op.results[0]
    return tuple(found)


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


def _is_light(op: Op) -> bool:
    return isinstance(op, Reshape) or (
        isinstance(op, Structured) and not is_root(op) and not is_transpose(op)
    )


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
        home = _home(graph, index, owner, members)
        members.setdefault(home, []).append(index)
        for tensor in op.outputs:
            owner[tensor] = home
        if home != index and _absorb(graph, index, owner, members):
            members[home].sort(key=order.__getitem__)
    return [
        tuple(found) for home, found in members.items() if not isinstance(graph.ops[home], Opaque)
    ]


def _home(graph: Graph, index: int, owner: dict[int, int], members: dict[int, list[int]]) -> int:
    """The cluster that op ``index`` joins, or its own."""
    op = graph.ops[index]
    if not _is_light(op):
        return index
    homes = sorted({owner[t] for t in op.inputs if t in owner}, reverse=True)
    for home in homes:
        shared = [t for t in op.inputs if owner.get(t) == home]
        if len(members[home]) >= _LARGEST or not all(_joins(graph, op, home, t) for t in shared):
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
    if not isinstance(op, Structured) or not _is_light(graph.ops[home]):
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
            all(_is_elementwise(graph.ops[i]) for i in members[other])
            and not any(t in graph.outputs or set(graph.consumers[t]) - inside for t in made)
            and len(members[home]) + len(members[other]) <= _LARGEST
            and not any(_reaches(graph, owner, members, home, owner[t]) for t in read if t in owner)
        ):
            members[home] += members.pop(other)
            owner.update(dict.fromkeys(made, home))
            absorbed = True
    return absorbed


def _joins(graph: Graph, op: Op, home: int, tensor: int) -> bool:
    first = graph.ops[home]
    if not (_is_light(first) or is_root(first)) or isinstance(first, Reshape):
        return False
    if _is_light(first):
        return True
    if not isinstance(op, Structured) or not op.is_elementwise or tensor in graph.outputs:
        return False
    dims = plain_dims(op.source_maps[op.sources.index(tensor)]) if tensor in op.sources else None
    if dims is None or len(dims) != len(op.domain):
        return False
    return all(_is_elementwise(graph.ops[c]) for c in graph.consumers[tensor])


def _is_elementwise(op: Op) -> bool:
    return (
        isinstance(op, Structured)
        and op.is_elementwise
        and not is_transpose(op)
        and (not is_root(op))
    )


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


def cluster_of(graph: Graph, ops: tuple[int, ...]) -> Cluster:
    """Ops, in order, with what they read and what others read of them; the first is the root."""
    made = {t for i in ops for t in graph.ops[i].outputs}
    read = list(dict.fromkeys(t for i in ops for t in graph.ops[i].inputs if t not in made))
    inside = set(ops)
    outputs = tuple(
        t
        for i in ops
        for t in graph.ops[i].outputs
        if t in graph.outputs or any(c not in inside for c in graph.consumers[t])
    )
    return Cluster(
        ops,
        ops[0],
        tuple(t for t in read if t not in graph.constants),
        tuple(t for t in read if t in graph.constants),
        outputs,
    )
