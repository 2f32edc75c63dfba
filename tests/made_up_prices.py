"""Prices that a test makes up: nothing is measured, nothing is known before, nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from layoutopt.ir.graph import Structured
from layoutopt.ir.types import Array
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Price, Work
from layoutopt.pricing.source import PriceSource
from layoutopt.runtime.progress import Progress


class MadeUpPrices:
    """A price in nanoseconds for each piece of work, as a function of it."""

    source = PriceSource.MEASURED

    def __init__(self, cost_ns: Callable[[Work], int]) -> None:
        self._cost_ns = cost_ns

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """What the function says; what moves nothing is free."""
        return [Price(0 if w.form.is_free else self._cost_ns(w)) for w in work]

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        """Nothing was measured before."""
        return [None for _ in work]

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """Nothing is run while planning."""
        return None


def structured(work: Work) -> list[Structured]:
    """The linalg ops of a piece of work."""
    return [op for op in work.form.graph.ops if isinstance(op, Structured)]
