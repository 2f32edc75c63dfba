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
from layoutopt.candidates.one_pass import puts_together
from layoutopt.candidates.partition import (
    LARGEST,
    is_elementwise,
    is_light,
    is_root,
    is_transpose,
    leads_light,
    partition_of,
)
from layoutopt.candidates.recomputing import Recomputing
from layoutopt.ir.affine import plain_dims
from layoutopt.ir.backward_slice import computed_from
from layoutopt.ir.graph import Graph, Slice, Structured


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
    recomputes: bool = False
    """It begins with ops that the model runs elsewhere, once for all that read what they make."""
    replaced: bool = False
    """Part of the model as it came that normalization replaced: a candidate as it came alone."""

    @property
    def beside_root(self) -> tuple[int, ...]:
        """The other ops."""
        return tuple(op for op in self.ops if op != self.root)


def form_clusters(egraph: EGraph) -> tuple[Cluster, ...]:
    """Clusters of the model's own ops, then one for each alternative root with what follows it."""
    return _Forming(egraph).form()


class _Forming:
    def __init__(self, egraph: EGraph) -> None:
        self.egraph, self.graph = egraph, egraph.graph
        self.partition = partition_of(self.graph, range(egraph.original_ops))
        self.homes = _Homes(egraph, self.partition)
        self.recomputing = Recomputing(self.graph, self.partition)
        self.moving = replace(self.recomputing, moves=True)
        self.clusters = [cluster_of(self.graph, ops) for ops in self.partition]
        self.split: set[tuple[int, ...]] = set()
        self.chained: set[int] = set()
        """Alternatives that clusters before them have inside."""

    def form(self) -> tuple[Cluster, ...]:
        graph, homes = self.graph, self.homes
        self.clusters += _with_transposes(graph, self.partition)
        self.clusters += _recomputed(graph, self.recomputing)
        known = {cluster.ops for cluster in self.clusters}
        self.clusters += [
            _computing_anew(graph, root, ops)
            for root, ops in self.moving.readers()
            if ops not in known
        ]
        for ops in self.egraph.atomic:
            behind = homes.behind(graph.ops[ops[-1]].outputs[0])
            self.clusters.append(replace(cluster_of(graph, (*ops, *behind)), atomic=True))
            self.chained.update(ops)
        for index in range(self.egraph.original_ops, len(graph.ops)):
            constant = all(t in graph.constants for t in graph.ops[index].outputs)
            if index not in self.chained and not constant:
                self._led_by(index)
        return tuple(self.clusters)

    def _led_by(self, index: int) -> None:
        """The clusters that an alternative op leads."""
        op = self.graph.ops[index]
        behind = self.homes.behind(op.outputs[0])
        if isinstance(op, Structured) and is_elementwise(op) and not op.is_copy and behind:
            self.clusters.append(self.homes.led_by((index, *behind)))
        elif isinstance(op, Structured) and op.is_contraction:
            self._led_by_contraction(index, behind)
        else:
            self._add(cluster_of(self.graph, (index,)), index)
            if behind and isinstance(op, Structured) and is_light(op) and op.reduction_dims:
                self.clusters.append(cluster_of(self.graph, (index, *behind)))
            self._apart(behind)
            ahead = self.moving.ahead(op.inputs) if puts_together(op) else ()
            if ahead:
                self.clusters.append(_computing_anew(self.graph, index, (*ahead, index)))

    def _led_by_contraction(self, index: int, behind: tuple[int, ...]) -> None:
        for tail in self.recomputing.shorter(behind):
            self.clusters.append(self.homes.led_by((index, *tail)))
        self._add(self.homes.led_by((index, *behind)), index)
        if behind:
            return
        self._with_readers((index,))
        chain = _chain(self.egraph, index)
        if not chain:
            return
        self.chained.update(chain)
        last = self.graph.ops[chain[-1]].outputs
        followers = self.homes.behind(last[0])
        whole = self.homes.led_by((index, *chain, *followers))
        self._add(whole if followers else replace(whole, outputs=last), index)
        if followers:
            self.clusters.append(self.homes.led_by((*chain, *followers)))
        else:
            self._with_readers((index, *chain))

    def _add(self, cluster: Cluster, index: int) -> None:
        """A cluster that op ``index`` leads, and with the slice ahead of it inside."""
        self.clusters += [cluster, *_behind(self.graph, _slice_ahead(self.graph, index), cluster)]

    def _with_readers(self, ops: tuple[int, ...]) -> None:
        for whole, rest in _with_readers(self.egraph, ops, self.homes.of):
            self._add(whole, ops[0])
            self._apart(rest)

    def _apart(self, rest: tuple[int, ...]) -> None:
        """What is left of a cluster of the model's own, by itself."""
        if rest and rest not in self.split:
            self.split.add(rest)
            self.clusters.append(cluster_of(self.graph, rest))


def _recomputed(graph: Graph, recomputing: Recomputing) -> Iterator[Cluster]:
    """Clusters without what they leave to others, that by itself, and those that compute it."""
    for ops, left in recomputing.left.items():
        kept = ops[: len(ops) - len(left)]
        if kept:
            yield cluster_of(graph, kept)
            yield cluster_of(graph, left)
    for root, ops in recomputing.readers():
        yield _computing_anew(graph, root, ops)


def _computing_anew(graph: Graph, root: int, ops: tuple[int, ...]) -> Cluster:
    """The cluster that op ``root`` leads, with those ahead of it inside."""
    own = cluster_of(graph, ops[ops.index(root) :])
    return replace(cluster_of(graph, ops), root=root, outputs=own.outputs, recomputes=True)


class _Homes:
    """Where the model's own ops stand in its partition."""

    def __init__(self, egraph: EGraph, partition: Iterable[tuple[int, ...]]) -> None:
        self._egraph, self._graph = egraph, egraph.graph
        self.of = {i: ops for ops in partition for i in ops}
        """The cluster of each op."""
        self._maker = {t: i for i in self.of for t in self._graph.ops[i].outputs}

    def behind(self, tensor: int) -> tuple[int, ...]:
        """The ops that follow the one that makes a tensor in its cluster.

        None where that is no elementwise op or leads no dispatch, or where they read more of what
        comes ahead of it.
        """
        maker = self._maker.get(tensor)
        if maker is None:
            return ()
        whole = self.of[maker]
        if maker == whole[0]:
            return whole[1:]
        if not is_elementwise(self._graph.ops[maker]) or not is_root(self._graph.ops[whole[0]]):
            return ()
        made, found = {tensor}, list[int]()
        before = {t for i in whole for t in self._graph.ops[i].outputs} - made
        for i in whole:
            op = self._graph.ops[i]
            if not any(t in made for t in op.inputs):
                continue
            found.append(i)
            made.update(op.outputs)
        if any(t in before - made for i in found for t in self._graph.ops[i].inputs):
            return ()
        return tuple(found)

    def led_by(self, ops: tuple[int, ...]) -> Cluster:
        """A cluster; of what is inside, others read what the model's own ops outside of it do."""
        found = cluster_of(self._graph, ops)
        own, inside = self._egraph.original_ops, {*ops}
        last = self._graph.ops[ops[-1]].outputs
        outputs = tuple(
            t
            for t in found.outputs
            if t in last
            or t in self._graph.outputs
            or any(c < own and c not in inside for c in self._graph.consumers[t])
        )
        return replace(found, outputs=outputs)


def _with_transposes(graph: Graph, partition: Iterable[tuple[int, ...]]) -> Iterator[Cluster]:
    """The clusters of elementwise ops and reductions with the transpose that alone reads them."""
    maker = {t: ops for ops in partition for i in ops for t in graph.ops[i].outputs}
    for ops in partition:
        transpose = graph.ops[ops[0]]
        source = transpose.inputs[0] if is_transpose(transpose) else None
        ahead = maker.get(source, ()) if source is not None else ()
        if not ahead or not leads_light(graph.ops[ahead[0]]) or len(ahead) >= LARGEST:
            continue
        readers = {c for c in graph.consumers[transpose.inputs[0]] if c not in ahead}
        if readers <= {ops[0]} and source not in graph.outputs:
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
    egraph: EGraph, ahead: tuple[int, ...], home: dict[int, tuple[int, ...]]
) -> Iterator[tuple[Cluster, tuple[int, ...]]]:
    """Alternative ops with the model's elementwise ops that read the last one, and what is left.

    These ops come first in a cluster of the model's own (``home`` of each op): the scale of
    attention scores ahead of their softmax, a residual ahead of a norm. The rest of it then stands
    alone. First all that may be taken along, then no more than read the tensor itself. None where
    other ops read it too.
    """
    graph = egraph.graph
    tensor = graph.ops[ahead[-1]].outputs[0]
    own = [c for c in graph.consumers[tensor] if c < egraph.original_ops]
    if not own or tensor in graph.outputs or own[0] not in home:
        return
    whole = home[own[0]]
    taken = _taken_along(graph, tensor, whole, LARGEST - len(ahead))
    if not set(own) <= set(taken):
        return
    fewest = tuple(i for i in taken if i in own)
    for kept in dict.fromkeys((taken, fewest)):
        read_later = {
            t
            for i in kept
            for t in graph.ops[i].outputs
            if t in graph.outputs
            or any(c < egraph.original_ops and c not in kept for c in graph.consumers[t])
        }
        shared = cluster_of(graph, (*ahead, *kept))
        rest = tuple(i for i in whole if i not in kept)
        yield replace(shared, outputs=tuple(t for t in shared.outputs if t in read_later)), rest


def _taken_along(graph: Graph, tensor: int, whole: tuple[int, ...], most: int) -> tuple[int, ...]:
    """The elementwise ops of a cluster that follow from a tensor and from what is outside."""
    made, taken = {tensor}, list[int]()
    foreign = {t for i in whole for t in graph.ops[i].outputs}
    for i in whole:
        op = graph.ops[i]
        if not is_elementwise(op) or not any(t in made for t in op.inputs):
            continue
        assert isinstance(op, Structured)
        reads = [
            plain_dims(m) for t, m in zip(op.sources, op.source_maps, strict=True) if t in made
        ]
        others = [t for t in op.inputs if t not in made]
        if (
            all(dims is not None and len(dims) == len(op.domain) for dims in reads)
            and not any(t in foreign or tensor in computed_from(graph, t) for t in others)
            and len(taken) < most
        ):
            taken.append(i)
            made.update(op.outputs)
    return tuple(taken)


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
            and is_elementwise(graph.ops[c])
            and tensor not in egraph.graph.ops[c].outputs
        ]
        if len(readers) != 1 or len(found) + 1 >= LARGEST:
            break
        op = graph.ops[readers[0]]
        assert isinstance(op, Structured)
        dims = plain_dims(op.source_maps[op.sources.index(tensor)])
        if dims is None or len(dims) != len(op.domain):
            break
        found.append(readers[0])
        tensor = op.results[0]
    return tuple(found)


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
