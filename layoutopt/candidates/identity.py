"""The model as it came, as candidates: what every plan is held against."""

from __future__ import annotations

from layoutopt.candidates.candidate import Candidate, identity_candidate
from layoutopt.candidates.choice import Choice, is_free
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.egraph import EGraph
from layoutopt.ir.graph import Graph


def identity_candidates(egraph: EGraph, clusters: tuple[Cluster, ...]) -> tuple[Candidate, ...]:
    """The candidate of each of the model's own clusters that leaves it as it came."""
    return tuple(
        identity_candidate(egraph.graph, index, cluster)
        for index, cluster in enumerate(clusters)
        if _is_own(egraph, clusters, cluster)
    )


def is_unchanged(
    graph: Graph, egraph: EGraph, choice: Choice, identity: tuple[Candidate, ...]
) -> bool:
    """Whether a choice for ``graph`` leaves every op as it came."""
    own = egraph.graph.ops[: egraph.original_ops]
    moved = any(not is_free(egraph.graph, c) for c in choice.conversions)
    return own == graph.ops and not moved and set(choice.candidates) <= set(identity)


def _is_own(egraph: EGraph, clusters: tuple[Cluster, ...], cluster: Cluster) -> bool:
    """Whether a cluster is one of the model as it came."""
    own = cluster.root < egraph.original_ops and bool(cluster.ops) and not cluster.region
    return own and not _is_part(clusters, cluster)


def _is_part(clusters: tuple[Cluster, ...], cluster: Cluster) -> bool:
    """Whether a cluster is what follows another one's root, standing alone for alternatives."""
    others = (o for o in clusters if o is not cluster and not o.region)
    return any(set(cluster.ops) < set(other.ops) for other in others)
