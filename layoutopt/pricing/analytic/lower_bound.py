"""Time that a dispatch takes at least: what no form and no layout is expected to get around.

    lower bound = max(operations / roof of operations, bytes / roof of bytes, launch)

after Williams, Waterman, Patterson, "Roofline" (CACM 2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from layoutopt.pricing.analytic.work import DispatchWork
from layoutopt.profiles.target import Rates

OVER_PEAK = (0.5, 1.5)
"""The roof of operations, over the nominal peak: at least and at first. Clocks go above nominal."""
OVER_MEMORY = (2.0, 8.0)
"""The roof of bytes, over the rate of the memory: caches are faster."""
HEADROOM = 1.25
"""How much faster than the best dispatch measured so far another one may be (assumed)."""
LAUNCH_NS = 100
"""What a dispatch costs at least: one more of four numbers in a local-sync call takes 130 to 160 ns
(AMD Zen 3, IREE 3.13, measured). A sample below that is the noise of the empty call that was taken
off."""
SHORTEST_RATED_NS = 10_000
"""Dispatches that take less say more about the launch than about rates."""
FEWEST_DISPATCHES = 32
"""Dispatches that a roof follows at least; a few may all be slow."""


@dataclass(frozen=True, slots=True)
class Roofs:
    """Rates that no dispatch exceeds."""

    operations: dict[str, float]
    """Per nanosecond, by element type."""
    bytes: float
    """Per nanosecond."""

    def lower_bound_ns(self, work: DispatchWork) -> int:
        """Nanoseconds of a dispatch at the roof."""
        moving, computing = work.size_bytes / self.bytes, 0.0
        if work.contraction is not None:
            rate = self.operations.get(work.contraction.element, self.operations["f32"])
            computing = work.contraction.operations / rate
        return max(LAUNCH_NS, round(max(moving, computing)))


def roofs_of(rates: Rates, measured: Iterable[tuple[DispatchWork, int]] = ()) -> Roofs:
    """Roofs of a target, by its rates and by dispatches that took so many nanoseconds there.

    A measurement brings a roof down or up to `HEADROOM` times the best rate that was seen.
    """
    computing: dict[str, list[float]] = {}
    moving: list[float] = []
    for work, cost_ns in measured:
        if cost_ns < SHORTEST_RATED_NS:
            continue
        moving.append(work.size_bytes / cost_ns)
        if work.contraction is not None:
            rate = work.contraction.operations / cost_ns
            computing.setdefault(work.contraction.element, []).append(rate)
    return Roofs(
        {
            element: _roof(peak, OVER_PEAK, computing.get(element, []))
            for element, peak in rates.gflops.items()
        },
        _roof(rates.bandwidth_gb_s, OVER_MEMORY, moving),
    )


def _roof(nominal: float, over: tuple[float, float], seen: Sequence[float]) -> float:
    lowest, first = over
    if len(seen) < FEWEST_DISPATCHES:
        return max([nominal * first, *(rate * HEADROOM for rate in seen)])
    return max(nominal * lowest, max(seen) * HEADROOM)
