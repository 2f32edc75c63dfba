"""The report as a person reads it in a terminal."""

from __future__ import annotations

from collections import Counter

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from layoutopt.options import Objective
from layoutopt.report.facts import facts
from layoutopt.report.headline import PLANNED, UNCHANGED, headline
from layoutopt.report.report import Report, Side
from layoutopt.report.solver import solver_text
from layoutopt.report.units import milliseconds, predicted
from layoutopt.report.validation import DispatchValidation, Validation

_MOST = 12
"""Rows of a list that are shown; the JSON has all."""
_MOST_KERNELS = 6


def show(report: Report, console: Console) -> None:
    """Print the report."""
    console.print()
    _summary(report, console)
    _sides(report, console)
    if report.flag_sets:
        _flag_sets(report, console)
    _at_sizes(report, console)
    _trade_offs(report, console)
    _conversions(report, console)
    _contractions(report, console)
    _compiled_moves(report, console)
    _io_layouts(report, console)
    _choices(report, console)
    _kernels(report, console)
    _validation(report, console)
    _refusals(report, console)
    _closing(report, console)


def _table(title: str, *columns: str, left: int = 1) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i < left else "right", overflow="fold")
    return table


def _ms(value: float | None) -> str:
    return "-" if value is None else milliseconds(value)


def _summary(report: Report, console: Console) -> None:
    text = headline(report)
    name = len(report.model)
    console.print(
        f"[bold]{escape(text[:name])}[/bold]{escape(text[name:])}", highlight=False, soft_wrap=True
    )


def _sides(report: Report, console: Console) -> None:
    table = _table(
        "Model, as it came and as it was written",
        "",
        "pack",
        "unpack",
        "transpose",
        "dispatches",
        "predicted ms",
        "measured ms",
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
        predicted(side),
        _ms(side.measured_ms),
    ]


def _at_sizes(report: Report, console: Console) -> None:
    """Each size that is planned for, where these are several."""
    if not report.at_sizes:
        return
    table = _table(
        "At each size that is planned for", "", "sizes", "plan for", "weight", "one plan ms",
        "predicted ms", "default ms", "best flags ms", "measured ms", left=3,
    )  # fmt: skip
    for row in report.at_sizes:
        sizes = ", ".join(f"{name} = {size}" for name, size in row.sizes.items())
        times = (row.one_plan_ms, row.predicted_ms, row.default_ms, row.best_flags_ms)
        numbers = map(_ms, (*times, row.measured_ms))
        table.add_row(row.function, sizes, row.ranges or "all", f"{row.weight:g}", *numbers)
    console.print(table)


def _trade_offs(report: Report, console: Console) -> None:
    """What plans cost that have less of something."""
    if not report.trade_offs:
        return
    table = _table(
        "The cheapest plans with less of it", "", "of", "budget MiB", "planned MiB",
        "predicted ms", "gap", left=2,
    )  # fmt: skip
    for row in report.trade_offs:
        mib = ("-" if n is None else f"{n / 2**20:.3g}" for n in (row.budget_bytes, row.size_bytes))
        gap = "no plan in time" if row.gap is None else f"{100 * row.gap:.2f} %"
        table.add_row(row.function, row.resource, *mib, _ms(row.predicted_ms), gap)
    console.print(table)


def _flag_sets(report: Report, console: Console) -> None:
    table = _table("Timed in turns, in one run", "compiled with", "ms", "spread", "")
    written = PLANNED if report.winner == UNCHANGED else report.winner
    for row in report.flag_sets:
        kept = "kept" if row.name == written else escape(row.reason[:80])
        spread = "-" if row.measured_ms is None else f"{100 * row.spread:.1f} %"
        table.add_row(row.name, _ms(row.measured_ms), spread, kept)
    console.print(table)


def _conversions(report: Report, console: Console) -> None:
    rows = (*report.conversions, *report.moves_inside)
    if not rows:
        if not report.discrepancies:
            console.print("No conversion stays in the module that was written.", highlight=False)
        return
    table = _table("Conversions that stay", "tensor", "kind", "why", "KiB", "us", left=3)
    for row in rows[:_MOST]:
        table.add_row(
            row.tensor,
            row.kind,
            row.reason,
            "-" if row.size_bytes is None else f"{row.size_bytes / 1024:.0f}",
            _us(row.cost_ns),
        )
    console.print(table)
    _more(len(rows), console)


def _contractions(report: Report, console: Console) -> None:
    found = report.contractions
    if found is None or not found.total:
        return
    if not found.packed and report.objective is Objective.LATENCY:
        return
    left = f"; not: {escape(', '.join(found.unpacked[:_MOST]))}" if found.unpacked else ""
    console.print(
        f"Contractions and convolutions planned over tiles: {found.packed} of {found.total}{left}",
        highlight=False,
    )


def _compiled_moves(report: Report, console: Console) -> None:
    """What IREE runs for the plan's conversions, and what it moves besides."""
    if not report.compiled_moves:
        return
    table = _table(
        "Dispatches of the plan that only move data",
        "dispatch",
        "kind",
        "planned as",
        "KiB",
        "calls",
        "us",
        left=3,
    )
    for row in report.compiled_moves[:_MOST]:
        size = "-" if row.size_bytes is None else f"{row.size_bytes / 1024:.0f}"
        table.add_row(
            row.dispatch,
            row.kind,
            row.place or row.reason,
            size,
            str(row.count),
            f"{row.mean_ns / 1e3:.1f}",
        )
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
    if not report.choices:
        return
    table = _table(
        f"Costliest choices{_whose(report)}{_roof(report)}",
        "op",
        "form",
        "us",
        "of roof",
        "GFLOP/s",
        "GB/s",
        "tried",
        "runner-up us",
        "runner-up",
        left=2,
    )
    for row in report.choices[:_MOST]:
        second = "-" if row.runner_up_ns is None else f"{row.runner_up_ns / 1e3:.1f}"
        share = "-" if row.of_roof is None else f"{100 * row.of_roof:.0f} %"
        rates = [
            f"{work / row.cost_ns:.1f}" if work and row.cost_ns else "-"
            for work in (row.operations, row.size_bytes)
        ]
        us = f"{row.cost_ns / 1e3:.1f}"
        tried = str(row.tried)
        table.add_row(row.op, row.form, us, share, *rates, tried, second, row.runner_up or "-")
    console.print(table)
    _more(len(report.choices), console)


def _roof(report: Report) -> str:
    """The rates that make the roof."""
    if not report.peak_gflops:
        return ""
    return f" (roof: {report.peak_gflops:.0f} GFLOP/s in f32, {report.memory_gb_s:.0f} GB/s)"


def _kernels(report: Report, console: Console) -> None:
    """The costliest of both modules, with the facts that their times follow from."""
    for side in ("before", "after"):
        rows = [row for row in report.kernels if row.side == side]
        if not rows:
            continue
        table = _table(
            f"Compiled dispatches {side}, costliest first", "dispatch", "bound by", "runs",
            "us each", "groups", "a unit", "VGPRs", "LDS KiB", "matrix", "vector", "LDS", "lines",
            left=2,
        )  # fmt: skip
        for row in rows[:_MOST_KERNELS]:
            table.add_row(
                row.name, row.bound, str(row.runs), f"{row.ns / 1e3:.1f}", str(row.workgroups),
                str(row.together), str(row.vgprs), f"{row.lds_bytes / 1024:.1f}",
                f"{row.matrix_cycles:.0f}", f"{row.vector_cycles:.0f}", f"{row.lds_cycles:.0f}",
                f"{row.read_lines:.0f}",
            )  # fmt: skip
        console.print(table)
        if len(rows) > _MOST_KERNELS:
            more = len(rows) - _MOST_KERNELS
            console.print(f"  and {more} more in the JSON report", highlight=False)
    if report.kernels:
        console.print(
            "Matrix and vector: cycles of one wave; LDS: cycles of one workgroup; lines: cache "
            "lines that it asks for; a unit: workgroups that one compute unit holds.",
            highlight=False, soft_wrap=True,
        )  # fmt: skip


def _whose(report: Report) -> str:
    """Of what a table tells that is about the plan even where it was not written."""
    kept = report.winner in (PLANNED, UNCHANGED)
    return "" if kept else " of the plan, which was not written"


def _where(report: Report) -> str:
    """Of several sizes that are planned for, the one at which dispatches were timed."""
    if not report.at_sizes:
        return ""
    sizes = report.at_sizes[0].sizes
    return f" at {', '.join(f'{name} = {size}' for name, size in sizes.items())}"


def _validation(report: Report, console: Console) -> None:
    found = report.validation
    if found is None:
        return
    table = _table(
        f"Predicted against measured, inside the module{_where(report)}{_whose(report)}",
        "op",
        "dispatch",
        "predicted us",
        "measured us",
        "error",
        left=2,
    )
    costly = sorted(found.dispatches, key=lambda d: -(d.measured_ns or d.predicted_ns or 0))
    for row in costly[:_MOST]:
        table.add_row(
            row.op or "(not planned)",
            _dispatches(row),
            _us(row.predicted_ns),
            _us(row.measured_ns),
            _error(row.predicted_ns, row.measured_ns),
        )
    console.print(table)
    _more(len(costly), console)
    middle = "-" if found.median_error is None else f"{100 * found.median_error:.0f} %"
    console.print(
        f"Whole module: predicted {found.predicted_ms:.3f} ms, its dispatches "
        f"{found.dispatched_ms:.3f} ms, fastest runs {_ms(found.fastest_ms)} ms "
        f"({_error(found.predicted_ms, found.fastest_ms)}); median error of a dispatch {middle}; "
        f"{found.unexpected} dispatches that were not planned, {found.missing} planned ones that "
        f"are not there{_absent(found)}.",
        highlight=False,
    )


def _dispatches(row: DispatchValidation) -> str:
    if not row.dispatch:
        return "(in another dispatch)"
    return row.dispatch + (f" and {len(row.further)} more" if row.further else "")


def _absent(found: Validation) -> str:
    """The ops that have fewer dispatches in the module than when compiled alone."""
    rows = [
        f"{row.op} (-{row.absent})" if row.absent > 1 else row.op
        for row in found.dispatches
        if row.absent
    ]
    more = f" and {len(rows) - _MOST} more" if len(rows) > _MOST else ""
    return f" ({escape(', '.join(rows[:_MOST]))}{more})" if rows else ""


def _us(nanoseconds: int | None) -> str:
    return "-" if nanoseconds is None else f"{nanoseconds / 1e3:.1f}"


def _error(predicted: float | None, measured: float | None) -> str:
    if predicted is None or not measured:
        return "-"
    return f"{100 * (predicted / measured - 1):+.0f} %"


def _refusals(report: Report, console: Console) -> None:
    """Equal reasons of one rule in one row, the most frequent first."""
    counts = Counter((r.rule, r.reason) for r in report.refusals)
    counts += Counter((f"barrier {b.op}", b.reason) for b in report.barriers)
    if not counts:
        return
    table = _table("Refusals and barriers", "rule", "reason", "ops", left=2)
    for (rule, reason), times in counts.most_common(_MOST):
        table.add_row(rule, escape(reason[:160]), str(times))
    console.print(table)
    _more(len(counts), console)


def _more(count: int, console: Console) -> None:
    if count > _MOST:
        console.print(f"  and {count - _MOST} more in the JSON report", highlight=False)


def _closing(report: Report, console: Console) -> None:
    console.print(solver_text(report.solver, report.objective), highlight=False)
    for fact in facts(report):
        console.print(
            fact.text, style="yellow" if fact.warns else None, markup=False, highlight=False
        )
    console.print(
        "Compile flags: " + " ".join(report.compile_flags), highlight=False, soft_wrap=True
    )
    stages = ", ".join(f"{k} {v:.1f} s" for k, v in report.seconds.items())
    console.print(f"Time: {stages}", highlight=False)
