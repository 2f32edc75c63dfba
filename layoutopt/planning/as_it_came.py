"""The model's own ops as candidates: what they compute is right, and they can always be chosen."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.cluster import Cluster
from layoutopt.pricing.prices import Price, Pricer, Work
from layoutopt.pricing.references import References
from layoutopt.runtime.progress import Progress


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
