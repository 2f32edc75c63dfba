"""The report as a person reads it in a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from layoutopt.report.report import Report, Side

_MOST = 12
"""Rows of a list that are shown; the JSON has all."""


def show(report: Report, console: Console) -> None:
    """Print the report."""
    console.print()
    _summary(report, console)
    _sides(report, console)
    if report.flag_sets:
        _flag_sets(report, console)
    _conversions(report, console)
    _compiled_moves(report, console)
    _io_layouts(report, console)
    _choices(report, console)
    _refusals(report, console)
    _closing(report, console)


def _table(title: str, *columns: str, left: int = 1) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i < left else "right", overflow="fold")
    return table


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _summary(report: Report, console: Console) -> None:
    speed = report.speedup
    best = min(
        (
            f.measured_ms
            for f in report.flag_sets
            if f.measured_ms is not None and f.name != "layoutopt"
        ),
        default=None,
    )
    if speed is None or report.after.measured_ms is None:
        predicted = report.before.predicted_ms, report.after.predicted_ms
        text = "planned"
        if predicted[0] and predicted[1]:
            text = f"predicted {predicted[0]:.2f} ms -> {predicted[1]:.2f} ms"
    else:
        text = (
            f"{report.before.measured_ms:.1f} ms -> {report.after.measured_ms:.1f} ms: "
            f"{speed:.2f}x faster than IREE's default"
        )
        if best is not None:
            text += f", {best / report.after.measured_ms:.2f}x than its best flags"
    console.print(
        f"[bold]{escape(report.model)}[/bold] on {report.profile}: {text}", highlight=False
    )
    if report.cost_source == "analytic":
        console.print(
            "[yellow]Costs are estimates from the target's data sheet: nothing was "
            "measured on it.[/yellow]",
            highlight=False,
        )
    if report.flag_sets and report.winner != "layoutopt":
        console.print(
            f"[yellow]Nothing beat the original compiled with '{report.winner}': that "
            "is what was written.[/yellow]",
            highlight=False,
        )


def _sides(report: Report, console: Console) -> None:
    table = _table(
        "Model", "", "pack", "unpack", "transpose", "dispatches", "predicted ms", "measured ms"
    )
    for name, side in (("before", report.before), ("after", report.after)):
        table.add_row(name, *_side(side))
    console.print(table)


def _side(side: Side) -> list[str]:
    dispatches = "-" if side.dispatches is None else str(side.dispatches)
    return [
        str(side.pack),
        str(side.unpack),
        str(side.transpose),
        dispatches,
        _ms(side.predicted_ms),
        _ms(side.measured_ms),
    ]


def _flag_sets(report: Report, console: Console) -> None:
    table = _table("Timed in turns, in one run", "compiled with", "ms", "spread", "")
    for row in report.flag_sets:
        kept = "kept" if row.name == report.winner else escape(row.reason[:80])
        spread = "-" if row.measured_ms is None else f"{100 * row.spread:.1f} %"
        table.add_row(row.name, _ms(row.measured_ms), spread, kept)
    console.print(table)


def _conversions(report: Report, console: Console) -> None:
    if not report.conversions:
        console.print("No conversion stays.", highlight=False)
        return
    table = _table("Conversions that stay", "tensor", "kind", "why", "KiB", "us", left=3)
    for row in report.conversions[:_MOST]:
        table.add_row(
            row.tensor,
            row.kind,
            row.reason,
            f"{row.size_bytes / 1024:.0f}",
            f"{row.cost_ns / 1e3:.1f}",
        )
    console.print(table)
    _more(len(report.conversions), console)


def _compiled_moves(report: Report, console: Console) -> None:
    """What IREE runs for the plan's conversions, and what it moves besides."""
    if not report.compiled_moves:
        return
    table = _table(
        "Dispatches of the plan that only move data", "dispatch", "kind", "calls", "us", left=2
    )
    for row in report.compiled_moves[:_MOST]:
        table.add_row(row.dispatch, row.kind, str(row.count), f"{row.mean_ns / 1e3:.1f}")
    console.print(table)
    _more(len(report.compiled_moves), console)


def _io_layouts(report: Report, console: Console) -> None:
    if not report.io_layouts:
        return
    table = _table("Layouts of inputs and outputs", "tensor", "", "layout", left=3)
    for row in report.io_layouts[:_MOST]:
        table.add_row(row.tensor, row.direction, escape(row.layout))
    console.print(table)
    _more(len(report.io_layouts), console)


def _choices(report: Report, console: Console) -> None:
    table = _table("Costliest choices", "op", "form", "us", "runner-up us", "runner-up", left=2)
    for row in report.choices[:_MOST]:
        second = "-" if row.runner_up_ns is None else f"{row.runner_up_ns / 1e3:.1f}"
        table.add_row(row.op, row.form, f"{row.cost_ns / 1e3:.1f}", second, row.runner_up or "-")
    console.print(table)
    _more(len(report.choices), console)


def _refusals(report: Report, console: Console) -> None:
    if not report.refusals:
        return
    table = _table("Refusals", "op", "rule", "reason", left=3)
    for row in report.refusals[:_MOST]:
        table.add_row(row.op, row.rule, escape(row.reason[:160]))
    console.print(table)
    _more(len(report.refusals), console)


def _more(count: int, console: Console) -> None:
    if count > _MOST:
        console.print(f"  and {count - _MOST} more in the JSON report", highlight=False)


def _closing(report: Report, console: Console) -> None:
    s = report.solver
    timed = f"objective {s.objective_ns / 1e6:.3f} ms, bound {s.bound_ns / 1e6:.3f} ms"
    goal = timed if report.objective == "latency" else "fewest conversions"
    console.print(
        f"Solver: {s.status}, {goal}, gap {100 * s.gap:.4f} %, {s.candidates} candidates, "
        f"{s.seconds:.2f} s ({s.stop_reason})",
        highlight=False,
    )
    v = report.verification
    if v is not None:
        verdict = "passed" if v.passed else "failed"
        console.print(
            f"Verification {verdict}: largest relative error {v.max_rel_error:.2g} "
            f"(allowed {v.tolerance:g})",
            highlight=False,
        )
    console.print(
        "Compile flags: " + " ".join(report.compile_flags), highlight=False, soft_wrap=True
    )
    stages = ", ".join(f"{k} {v:.1f} s" for k, v in report.seconds.items())
    console.print(f"Time: {stages}", highlight=False)
