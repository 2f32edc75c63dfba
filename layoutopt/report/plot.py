"""Predicted against measured time of each dispatch, as points on logarithmic axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from layoutopt.report.validation import DispatchValidation, Validation

SIZE, MARGIN = 460, 50
"""In pixels; the plot is square."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One dispatch."""

    x: float
    y: float
    row: DispatchValidation


@dataclass(frozen=True, slots=True)
class Tick:
    """A power of ten on both axes; ``at`` pixels from the origin of the picture."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Plot:
    """Points in pixels, y downwards."""

    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]
    size: int = SIZE
    margin: int = MARGIN


def plot_validation(validation: Validation | None) -> Plot | None:
    """The dispatches that have both times; None where there is none."""
    rows = [
        row
        for row in (validation.dispatches if validation is not None else ())
        if row.predicted_ns and row.measured_ns
    ]
    if not rows:
        return None
    logs = [math.log10(ns / 1e3) for r in rows for ns in (r.predicted_ns, r.measured_ns) if ns]
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    high = max(high, low + 1)

    def pixels(log_us: float) -> float:
        return round(MARGIN + (log_us - low) / (high - low) * (SIZE - 2 * MARGIN), 1)

    dots = tuple(
        Dot(
            pixels(math.log10((row.predicted_ns or 1) / 1e3)),
            round(SIZE - pixels(math.log10((row.measured_ns or 1) / 1e3)), 1),
            row,
        )
        for row in rows
    )
    ticks = tuple(Tick(pixels(power), f"{10.0**power:g}") for power in range(low, high + 1))
    return Plot(dots, ticks)
