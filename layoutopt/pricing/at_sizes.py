"""Prices of dynamic models at several sizes: the weighted mean of what each size costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from layoutopt.ir.types import Array
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Price, Pricer, Work
from layoutopt.runtime.progress import Progress


class AtSizes:
    """A source of prices that asks another one for each size that is planned for."""

    def __init__(self, pricer: Pricer) -> None:
        self.pricer = pricer
        self.source = pricer.source

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """A price for each piece of work, in order; refused where it is at any size."""
        prices = iter(self.pricer.price([p for w in work for p in w.everywhere], progress))
        return [_mean(w, [next(prices) for _ in w.everywhere]) for w in work]

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        """The prices that are there already for all sizes, in order; None for the others."""
        prices = iter(self.pricer.stored([p for w in work for p in w.everywhere]))
        found: list[Price | None] = []
        for piece in work:
            own = [next(prices) for _ in piece.everywhere]
            known = [price for price in own if price is not None]
            found.append(_mean(piece, known) if len(known) == len(own) else None)
        return found

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """What a candidate computes on its own inputs; None where it does not run here."""
        return self.pricer.outputs(benchmark)


def _mean(work: Work, prices: Sequence[Price]) -> Price:
    """One price of all; of refusals the first."""
    first = next((p for p in prices if p.cost_ns is None), prices[0])
    if len(prices) == 1 or first.cost_ns is None:
        return first
    shares = [piece.weight for piece in work.everywhere]
    costs = [(p.cost_ns or 0) * share for p, share in zip(prices, shares, strict=True)]
    total = sum(costs)
    errors = (c * p.uncertainty for c, p in zip(costs, prices, strict=True))
    return Price(
        round(total / sum(shares)),
        next((p.reason for p in prices if p.reason), ""),
        math.sqrt(sum(e**2 for e in errors)) / total if total else 0.0,
        estimated=any(p.estimated for p in prices),
    )
