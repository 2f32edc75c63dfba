"""What a plan is predicted to take, and how far the estimates behind that may be off.

Estimates for one target rest on the same few rates, so that their errors go the same way: they
are added up, not averaged out. What is measured is taken as it is. What the model as it came and
the plan have in common has the same error in both, and widens the range of their ratio less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.conversion import Conversion
from layoutopt.pricing.prices import Price

Prices = Mapping[Candidate | Conversion, Price]


@dataclass(frozen=True, slots=True)
class Range:
    """A lowest and a highest value, one standard error of every estimate away."""

    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of a plan: what tells it from others, and its price."""

    key: object
    price: Price


def spread_of(steps: Iterable[Step]) -> Range | None:
    """Nanoseconds of the steps together; None where none of them is an estimate."""
    found = [step.price for step in steps]
    if not any(price.estimated for price in found):
        return None
    return _total(found)


def ratio_of(before: Sequence[Step], after: Sequence[Step]) -> Range | None:
    """The range of the time before over the time after; None where nothing is an estimate."""
    if spread_of((*before, *after)) is None:
        return None
    mine = {step.key for step in after}
    both = {step.key for step in before if step.key in mine}
    shared = _total(s.price for s in before if s.key in both)
    old = _total(s.price for s in before if s.key not in both)
    new = _total(s.price for s in after if s.key not in both)
    ends = (shared.low, shared.high)
    if not min(shared.low + new.low, shared.low + old.low) > 0:
        return None
    return Range(
        min((s + old.low) / (s + new.high) for s in ends),
        max((s + old.high) / (s + new.low) for s in ends),
    )


def steps_of(
    place: object, keys: Iterable[Candidate | Conversion], prices: Prices, runs: float = 1
) -> list[Step]:
    """The steps of graph ``place``, which runs so often; what has no price is free."""
    return [Step((place, key), _times(prices[key], runs)) for key in keys if key in prices]


def _times(price: Price, runs: float) -> Price:
    return price if price.cost_ns is None else replace(price, cost_ns=round(runs * price.cost_ns))


def _total(prices: Iterable[Price]) -> Range:
    total = Range(0.0, 0.0)
    for price in prices:
        factor = 1 + (price.uncertainty if price.estimated else 0.0)
        total += Range(price.nominal_ns / factor, price.nominal_ns * factor)
    return total
