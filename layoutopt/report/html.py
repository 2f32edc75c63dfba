"""The report as one HTML page that opens without a network: styles, script and drawings inside."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from layoutopt.files.written import write_text
from layoutopt.report.drawing import Edge, drawings, layout_counts
from layoutopt.report.explanation import runner_up
from layoutopt.report.facts import facts
from layoutopt.report.headline import headline
from layoutopt.report.plot import plot_validation
from layoutopt.report.report import Report
from layoutopt.report.solver import solver_text
from layoutopt.report.templates import templates
from layoutopt.report.units import milliseconds, predicted

_COLOURS = ("#9ad0f5", "#f5c26b", "#a7d8a0", "#e6b3d3", "#f2e38a", "#f0a58f", "#b9b6e8")
"""Told apart by the colour-blind, after Okabe and Ito (2008), lighter: text stands on them."""
_OTHER = "#c9ced6"


def write_html(report: Report, path: Path) -> None:
    """Write the page, whole or not at all. Raises InputError where the disk refuses."""
    write_text(path, html_page(report))


def html_page(report: Report) -> str:
    """The page of a report; it refers to nothing outside itself."""
    environment = templates()
    environment.filters |= {
        "ms": milliseconds,
        "path": _path,
        "runner_up": runner_up,
        "predicted": predicted,
    }
    layouts = layout_counts(report)
    shades = (*_COLOURS, *(_OTHER for _ in layouts[len(_COLOURS) :]))
    times = [row.measured_ms for row in report.flag_sets if row.measured_ms is not None]
    return environment.get_template("report.html.j2").render(
        report=report,
        layouts=layouts,
        colours={layout: shade for (layout, _), shade in zip(layouts, shades, strict=False)},
        drawings=tuple(drawings(report)),
        facts=facts(report),
        headline=headline(report),
        solver=solver_text(report.solver, report.objective),
        plot=plot_validation(report.validation),
        slowest=max(times, default=1.0),
    )


def _path(edge: Edge) -> str:
    """An SVG path that leaves and enters each of its points vertically."""
    found = [f"M{edge.points[0][0]} {edge.points[0][1]}"]
    for (x, y), (next_x, next_y) in pairwise(edge.points):
        middle = (y + next_y) // 2
        found.append(f"C{x} {middle} {next_x} {middle} {next_x} {next_y}")
    return "".join(found)
