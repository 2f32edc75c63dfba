"""A report in words: one line per choice, conversion and refusal."""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.ir.size_range import ranges_text
from layoutopt.planning.plan_file import FunctionPlan
from layoutopt.report.headline import headline
from layoutopt.report.report import ChoiceReport, Report

_MOST = 8
"""Names in one line."""


def explanation(report: Report, name: str | None) -> Iterator[str]:
    """What concerns ``name``, an op (convolution.3) or a tensor (t17); all where it is None."""
    if name is None:
        yield headline(report)
    where = {row.name: f" at {row.ranges}" for row in report.specializations}
    for c in report.choices:
        if name in (None, c.op, *c.layouts):
            layouts = ", ".join(f"{t} {layout}" for t, layout in c.layouts.items())
            op = f"{c.op}{where.get(c.function, '')}"
            yield f"{op}: {c.form}, {c.cost_ns / 1e3:.1f} us; {layouts}; {runner_up(c)}"
    for v in (*report.conversions, *(report.moves_inside if name is None else ())):
        if name in (None, v.tensor.partition(":")[0]) or f"{name} " in v.reason:
            cost = "no price" if v.cost_ns is None else f"{v.cost_ns / 1e3:.1f} us"
            size = "bytes unknown" if v.size_bytes is None else f"{v.size_bytes} bytes"
            tensor = f"{v.tensor}{where.get(v.function, '')}"
            yield f"{tensor}: {v.kind} from {v.source} to {v.target}, {cost}, {size}; {v.reason}"
    for u in report.unchecked:
        if name in (None, u.op):
            yield f"{u.op}: {u.reason}"
    refused: dict[tuple[str, str], list[str]] = {}
    for r in (*report.refusals, *report.barriers):
        if name in (None, r.op):
            refused.setdefault((r.rule, r.reason), []).append(r.op)
    for (rule, reason), ops in refused.items():
        yield f"{_some(ops)}: refused {rule}: {reason}"


def _some(ops: list[str]) -> str:
    """Each name once; a few of many."""
    names = list(dict.fromkeys(ops))
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def plan_explanation(plan: FunctionPlan, name: str | None) -> Iterator[str]:
    """The choices and conversions of a plan that concern ``name``; all where it is None."""
    where = f" at {ranges_text(plan.ranges)}" if plan.ranges else ""
    for candidate in plan.candidates:
        layouts = {t.label: str(t.layout) for t in candidate.tensors}
        if name in (None, candidate.op, *layouts):
            told = ", ".join(f"{t} {layout}" for t, layout in layouts.items())
            made_by, cost_us = candidate.made_by, candidate.cost_ns / 1e3
            yield f"{candidate.op}{where}: {made_by}, {cost_us:.1f} us; {told}"
    for c in plan.conversions:
        if name in (None, c.label):
            yield f"{c.label}{where}: from {c.source} to {c.target}, {c.cost_ns / 1e3:.1f} us"


def runner_up(choice: ChoiceReport) -> str:
    """The second best, and why it lost."""
    if choice.runner_up_ns is None:
        return "nothing else has a price"
    more_us = (choice.runner_up_ns - choice.cost_ns) / 1e3
    side = f"{more_us:.1f} us more"
    if more_us < 0:
        side = f"{-more_us:.1f} us less by itself, but not in the cheapest whole"
    return f"runner-up: {choice.runner_up}, {side}"
