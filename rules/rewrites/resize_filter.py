"""Filters with phases: what a resize does along a dim where its places come round.

y[P*m + p] = sum over t of k[p, t] * x[Q*m + t - low], where x goes on with its first and last
             element beyond its ends
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.types import Array, roundoff
from layoutopt.rules.rewrites.separable_reads import (
    SeparableReads,
    factors_of,
    places_of,
    values_of,
)

_PHASES = 8
"""Elements after which places come round, at most: images made eight times as large."""
_TAPS = 8
"""Elements of what is read that one phase of a filter reaches, at most."""
_ROUNDINGS = 8
"""Of a place, by which a factor of one period may differ from that of another."""
_MOST_ERROR = 1e-3
"""By which it may differ in types with long roundings."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One dim: what ``phases[p][t]`` are, and how far a period moves on."""

    dim: int
    phases: tuple[tuple[float, ...], ...]
    step: int
    """Elements that a period moves on (Q)."""
    low: int
    """Elements that the first tap lies before the first element."""
    made: int
    """The size of the result."""

    @property
    def periods(self) -> int:
        """Those of the result, the last one perhaps in part."""
        return -(-self.made // len(self.phases))

    @property
    def taps(self) -> tuple[int, ...]:
        """The taps that have a factor."""
        return tuple(t for t, factors in enumerate(zip(*self.phases, strict=True)) if any(factors))

    def beyond(self, size: int) -> int:
        """How far the filter reaches beyond the last element of a dim of this size."""
        return max(0, self.step * (self.periods - 1) + len(self.phases[0]) - self.low - size)


def resize_filter(
    op: ComputedReads, reads: SeparableReads, number: int, size: int, made: int
) -> Filter | None:
    """The filter of the fewest phases that has the places and factors of a dim, if any."""
    axis = reads.axes[number]
    taps = [
        (
            values_of(places_of(op, axis, tap), made),
            values_of(factors_of(op, axis, tap, reads.element), made),
        )
        for tap in axis.taps
    ]
    wanted = np.zeros((made, size))
    for places, factors in taps:
        np.add.at(wanted, (np.arange(made), np.clip(places, 0, size - 1)), factors)
    allowed = min(_ROUNDINGS * size * (roundoff(reads.element) or 0.0), _MOST_ERROR)
    for phases in range(1, min(_PHASES, made) + 1):
        for ends in (0, 1):  # places that keep middles of elements, places that keep corners
            step, rest = divmod((size - ends) * phases, max(1, made - ends))
            found = None if rest or not step else _middle(taps, phases, step, made, axis.dim)
            if found is not None and np.abs(_applied(found, size) - wanted).max() <= allowed:
                return found
    return None


def _middle(
    taps: Sequence[tuple[Array, Array]], phases: int, step: int, made: int, dim: int
) -> Filter | None:
    """What the places and factors are in the middle, as those of all periods."""
    period = min(made // phases // 2, made // phases - 1)
    at = slice(period * phases, (period + 1) * phases)
    places = np.stack([p[at] for p, _ in taps]) - period * step
    factors = np.stack([f[at] for _, f in taps]).astype(np.float64)
    low, high = places[factors != 0].min(initial=0), places[factors != 0].max(initial=0)
    if not factors.any() or high - low >= _TAPS:
        return None
    rows = np.zeros((phases, high - low + 1))
    for place, factor in zip(places, factors, strict=True):
        inside = factor != 0
        np.add.at(rows, (np.arange(phases)[inside], place[inside] - low), factor[inside])
    return Filter(dim, tuple(tuple(map(float, row)) for row in rows), step, -int(low), made)


def _applied(found: Filter, size: int) -> Array:
    """The factor of each element that is read in each one that is made."""
    phases = np.array(found.phases)
    period, phase = np.divmod(np.arange(found.made), len(phases))
    matrix = np.zeros((found.made, size))
    for tap in found.taps:
        place = np.clip(found.step * period + tap - found.low, 0, size - 1)
        np.add.at(matrix, (np.arange(found.made), place), phases[phase, tap])
    return matrix
