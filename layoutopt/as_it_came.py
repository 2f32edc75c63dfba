"""The model's own ops as candidates: what they compute is right, and they can always be chosen."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.candidate import Candidate, identity_candidate
from layoutopt.cluster import Cluster
from layoutopt.egraph import EGraph
from layoutopt.prices import Price, Pricer, Work
from layoutopt.reference import References
from layoutopt.runtime.progress import Progress


def own_candidates(egraph: EGraph, clusters: Sequence[Cluster]) -> tuple[Candidate, ...]:
    """The model as it came: one candidate for each cluster of its own ops."""
    return tuple(
        identity_candidate(egraph.graph, index, cluster)
        for index, cluster in enumerate(clusters)
        if _is_own(egraph, clusters, cluster)
    )


def settle_own(
    own: Sequence[Candidate],
    work: dict[Candidate, Work],
    clusters: Sequence[Cluster],
    references: References,
    pricer: Pricer,
    progress: Progress,
) -> list[tuple[Work, Price]]:
    """Price the model's own ops first; where IREE computes something else than the oracle, or the
    oracle does not know an op, IREE's results are what the others are held against.
    """
    pieces = [(c, work[c]) for c in own if c in work]
    prices = pricer.stored([piece for _, piece in pieces])
    missing = [i for i, price in enumerate(prices) if price is None]
    for i, price in zip(
        missing, pricer.price([pieces[i][1] for i in missing], progress), strict=True
    ):
        prices[i] = price
    known = [(piece, p) for (_, piece), p in zip(pieces, prices, strict=True) if p is not None]
    for (candidate, _), (piece, price) in zip(pieces, known, strict=True):
        if price.cost_ns is None or not price.reason:
            continue
        outputs = pricer.outputs(piece.benchmark)
        if outputs is not None:
            references.learn(clusters[candidate.cluster], outputs)
    return known


def _is_own(egraph: EGraph, clusters: Sequence[Cluster], cluster: Cluster) -> bool:
    own = cluster.root < egraph.original_ops and bool(cluster.ops) and not cluster.region
    return own and not _is_part(clusters, cluster)


def _is_part(clusters: Sequence[Cluster], cluster: Cluster) -> bool:
    """Whether a cluster is what follows another one's root, standing alone for alternatives."""
    others = (o for o in clusters if o is not cluster and not o.region)
    return any(set(cluster.ops) < set(other.ops) for other in others)
