"""The model's own ops as candidates, which can always be chosen.

What they compute is right, but for a device that another one and the oracle refute.
"""

from __future__ import annotations

from collections.abc import Collection

from layoutopt.candidates.candidate import Candidate
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.pricing.prices import Price, Pricer, Work
from layoutopt.runtime.progress import Progress


def price_as_it_came(
    space: PlanSpace,
    pricer: Pricer,
    progress: Progress,
    left_out: Collection[Candidate] = (),
) -> list[tuple[Work, Price]]:
    """Price the model's own ops first, but for some; where IREE computes something else than the
    oracle, or the oracle does not know an op, IREE's results are the reference.
    """
    pieces = [
        (c, space.candidates[c])
        for c in space.identity
        if c in space.candidates and c not in left_out
    ]
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
            space.references.learn(space.clusters[candidate.cluster], outputs)
    return known
