"""The chart of `layoutopt bench`: a row for each model, a dot for each runtime, as SVG.

Dots on a common logarithmic axis, after Cleveland and McGill, Graphical perception (JASA 1984):
times differ by factors, and a dot needs no zero to start from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutopt.report.bench_rows import DEFAULT, BenchRow
from layoutopt.report.headline import PLANNED
from layoutopt.report.templates import templates
from layoutopt.report.units import milliseconds

_LEFT, _RIGHT, _TOP, _LINE = 170, 30, 60, 26
_WIDTH = 720
_COLOURS = ("#999999", "#e69f00", "#0072b2", "#009e73", "#cc79a7", "#d55e00")
"""Okabe and Ito (2008): every reader tells them apart."""
_BEST_FLAGS = "best flags"


@dataclass(frozen=True, slots=True)
class Dot:
    """A time; ``x`` in pixels."""

    x: float
    colour: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A model; ``y`` in pixels."""

    y: int
    name: str
    dots: tuple[Dot, ...]


def chart(rows: Sequence[BenchRow]) -> str:
    """The chart as a file of its own; rows without a time are left out."""
    times = [(row, _times(row)) for row in rows]
    times = [(row, found) for row, found in times if found]
    names = list(dict.fromkeys(name for _, found in times for name in found))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(names)}
    everything = [ms for _, found in times for ms in found.values()]
    low = math.floor(math.log10(min(everything, default=1.0)))
    high = max(low + 1, math.ceil(math.log10(max(everything, default=1.0))))

    def x(ms: float) -> float:
        share = (math.log10(ms) - low) / (high - low)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    lines = [
        Line(
            _TOP + place * _LINE + _LINE // 2,
            Path(row.model).stem + ("" if row.threads == 1 else f", {row.threads} threads"),
            tuple(
                Dot(x(ms), colours[name], f"{name}: {milliseconds(ms)} ms")
                for name, ms in found.items()
            ),
        )
        for place, (row, found) in enumerate(times)
    ]
    ticks = [(x(10.0**power), f"{10.0**power:g} ms") for power in range(low, high + 1)]
    return templates().get_template("chart.svg.j2").render(
        lines=lines, ticks=ticks, colours=colours, width=_WIDTH, top=_TOP,
        height=_TOP + len(lines) * _LINE + 30, left=_LEFT,
    )  # fmt: skip


def _times(row: BenchRow) -> dict[str, float]:
    """Milliseconds of what the chart shows: IREE before, with its best flags, after; peers."""
    shown = {
        f"IREE {DEFAULT}": DEFAULT,
        f"IREE {_BEST_FLAGS}": row.best_flags,
        PLANNED: PLANNED,
        **{peer.name: peer.name for peer in row.peers},
    }
    known = {label: row.milliseconds(name) for label, name in shown.items()}
    return {label: ms for label, ms in known.items() if ms}
