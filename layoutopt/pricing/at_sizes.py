"""Prices of dynamic models at several sizes: the weighted mean of what each size costs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from layoutopt.ir.types import Array
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Price, Pricer, Work
from layoutopt.runtime.progress import Progress


class AtSizes:
    """A source of prices that asks another one for each size that is planned for, once."""

    def __init__(self, pricer: Pricer) -> None:
        self.pricer = pricer
        self.source = pricer.source
        self._asked: dict[Hashable, Price] = {}

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """A price for each piece of work, in order; refused where it is at any size."""
        pieces = {_key(p): p for w in work for p in w.everywhere if _key(p) not in self._asked}
        prices = self.pricer.price(list(pieces.values()), progress) if pieces else []
        self._asked.update(zip(pieces, prices, strict=True))
        return [_mean(w, [self._asked[_key(p)] for p in w.everywhere]) for w in work]

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        """The prices that are there already for all sizes, in order; None for the others."""
        pieces = {_key(p): p for w in work for p in w.everywhere if _key(p) not in self._asked}
        stored = self.pricer.stored(list(pieces.values())) if pieces else []
        known = self._asked | {k: p for k, p in zip(pieces, stored, strict=True) if p is not None}
        found: list[Price | None] = []
        for piece in work:
            own = [known[key] for key in map(_key, piece.everywhere) if key in known]
            found.append(_mean(piece, own) if len(own) == len(piece.everywhere) else None)
        return found

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """What a candidate computes on its own inputs; None where it does not run here."""
        return self.pricer.outputs(benchmark)


def _key(work: Work) -> Hashable:
    """What tells pieces apart that are measured one by one."""
    return work.benchmark.flags, work.benchmark.text, work.benchmark.sizes


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
        by_size_ns=tuple(p.cost_ns or 0 for p in prices),
    )
