"""The model as it came, as candidates: what every plan is compared with.

What normalization replaced is a candidate too, as it came: so its price is that of the model and
not of its canonical form, and the plan may keep it.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.candidates.candidate import Candidate, identity_candidate
from layoutopt.candidates.choice import Choice, is_free
from layoutopt.candidates.cluster import Cluster, cluster_of
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.partition import partition_of
from layoutopt.ir.graph import Graph


def replaced_clusters(
    egraph: EGraph, came: Graph, clusters: tuple[Cluster, ...]
) -> tuple[Cluster, ...]:
    """The clusters of the model as it came that its canonical form does not have.

    ``egraph``: with the ops that came. ``clusters``: those of the canonical form.
    """
    if max(egraph.came, default=0) < egraph.original_ops:
        return ()
    known = {c.ops: c for c in clusters if not c.atomic}
    place = {index: i for i, index in enumerate(egraph.came)}
    found: list[Cluster] = []
    for ops in partition_of(egraph.graph, egraph.came):
        own = replace(cluster_of(came, tuple(place[i] for i in ops)), ops=ops, root=ops[0])
        other = known.get(ops)
        if other is None or not {*own.outputs} <= {*other.outputs}:
            found.append(replace(own, replaced=True))
    return tuple(found)


def identity_candidates(egraph: EGraph, clusters: tuple[Cluster, ...]) -> tuple[Candidate, ...]:
    """The candidate of each cluster of the model as it came that leaves it so."""
    place: dict[tuple[int, ...], int] = {}
    for index, cluster in enumerate(clusters):
        if cluster.replaced or not (cluster.atomic or cluster.region):
            place[cluster.ops] = index if cluster.replaced else place.get(cluster.ops, index)
    own = (place[ops] for ops in partition_of(egraph.graph, egraph.came))
    return tuple(identity_candidate(egraph.graph, i, clusters[i]) for i in own)


def is_unchanged(egraph: EGraph, choice: Choice, identity: tuple[Candidate, ...]) -> bool:
    """Whether a choice leaves every op as it came."""
    moved = any(not is_free(egraph.graph, c) for c in choice.conversions)
    return not moved and set(choice.candidates) <= set(identity)
