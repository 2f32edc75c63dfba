"""Clusters that are the same but for the numbers of their tensors: they are worked out once."""

from __future__ import annotations

from collections.abc import Hashable

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.cluster import Cluster
from layoutopt.ir.graph import Graph
from layoutopt.ir.renaming import counted_from_zero


class StructuralHash:
    """Keys of candidates: equal where forms and benchmarks are equal."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._clusters: dict[Cluster, tuple[int, tuple[int, ...]]] = {}
        self._kinds: dict[Hashable, int] = {}

    def key(self, cluster: Cluster, candidate: Candidate) -> Hashable:
        """Of one candidate of a cluster."""
        if cluster not in self._clusters:
            self._clusters[cluster] = self._kind(cluster)
        kind, tensors = self._clusters[cluster]
        layouts = dict(candidate.layouts)
        return kind, tuple(layouts[t] for t in tensors), candidate.form, candidate.tile

    def _kind(self, cluster: Cluster) -> tuple[int, tuple[int, ...]]:
        """The number of the cluster's kind, and its tensors in an order of their own."""
        graph = self._graph
        ops, tensors = counted_from_zero(graph.ops[index] for index in cluster.ops)
        key = (
            ops,
            tuple((graph.types[t], graph.splats.get(t), t in graph.constants) for t in tensors),
            tuple(
                tuple(map(tensors.index, group))
                for group in (cluster.inputs, cluster.weights, cluster.outputs)
            ),
        )
        return self._kinds.setdefault(key, len(self._kinds)), tensors
