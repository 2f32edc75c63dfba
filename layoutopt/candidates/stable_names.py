"""Names of tensors and clusters that stay when rules are added: by what computes them.

A tensor is named by the op that makes it first and the names of what that reads, down to the
function's inputs; a cluster by its ops. Numbers of tensors and clusters shift with every
alternative that a new rule adds; these names do not, so files speak of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from layoutopt.candidates.cluster import Cluster
from layoutopt.ir.graph import Graph, Op
from layoutopt.ir.renaming import counted_from_zero

_LENGTH = 16
"""Hexadecimal digits of a name."""


class StableNames:
    """Names of what one function's plan can be made of."""

    def __init__(self, graph: Graph, clusters: Sequence[Cluster]) -> None:
        """``graph``: with all alternatives; ``clusters``: of its ops."""
        self._graph = graph
        self._seen: Counter[str] = Counter()
        self.tensors = self._named_tensors()
        """By number."""
        results = {op: self._of_op(graph.ops[op]) for c in clusters for op in c.ops}
        self._seen.clear()
        self.clusters = tuple(self._of_cluster(cluster, results) for cluster in clusters)
        """By number."""

    @cached_property
    def tensor_numbers(self) -> dict[str, int]:
        """Numbers of tensors by name."""
        return {name: number for number, name in enumerate(self.tensors)}

    @cached_property
    def cluster_numbers(self) -> dict[str, int]:
        """Numbers of clusters by name."""
        return {name: number for number, name in enumerate(self.clusters)}

    def _named_tensors(self) -> tuple[str, ...]:
        graph = self._graph
        names = {t: f"input{place}" for place, t in enumerate(graph.inputs)}
        for op in graph.ops:
            if all(t in names for t in op.outputs):
                continue
            kind = self._distinct(_digest(_shape(op), *(names.get(t, "") for t in op.inputs)))
            for place, t in enumerate(op.outputs):
                names.setdefault(t, f"{kind}.{place}" if place else kind)
        return tuple(names.get(t, f"t{t}") for t in range(len(graph.types)))

    def _of_op(self, op: Op) -> str:
        return _digest(_shape(op), *(self.tensors[t] for t in (*op.inputs, *op.outputs)))

    def _of_cluster(self, cluster: Cluster, ops: dict[int, str]) -> str:
        kind = f"{cluster.atomic} {cluster.region} {cluster.replaced}"
        return self._distinct(_digest(kind, *(ops[op] for op in cluster.ops)))

    def _distinct(self, name: str) -> str:
        """The same computation twice has two names."""
        self._seen[name] += 1
        count = self._seen[name]
        return name if count == 1 else f"{name}-{count}"


def _shape(op: Op) -> str:
    """An op without the numbers of its tensors."""
    return repr(counted_from_zero([op])[0])


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_LENGTH]
