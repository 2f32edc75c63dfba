"""A report in words: one line per choice, conversion and refusal."""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.report.report import ChoiceReport, Report


def explanation(report: Report, name: str | None) -> Iterator[str]:
    """What concerns ``name``, an op (convolution.3) or a tensor (t17); all where it is None."""
    for c in report.choices:
        if name in (None, c.op, *c.layouts):
            layouts = ", ".join(f"{t} {layout}" for t, layout in c.layouts.items())
            yield f"{c.op}: {c.form}, {c.cost_ns / 1e3:.1f} us; {layouts}; {runner_up(c)}"
    for v in report.conversions:
        if name in (None, v.tensor.partition(":")[0]) or f"{name} " in v.reason:
            yield (
                f"{v.tensor}: {v.kind} from {v.source} to {v.target}, "
                f"{v.cost_ns / 1e3:.1f} us, {v.size_bytes} bytes; {v.reason}"
            )
    for r in (*report.refusals, *report.barriers):
        if name in (None, r.op):
            yield f"{r.op}: refused {r.rule}: {r.reason}"


def runner_up(choice: ChoiceReport) -> str:
    """The second best, and why it lost."""
    if choice.runner_up_ns is None:
        return "nothing else was possible"
    more_us = (choice.runner_up_ns - choice.cost_ns) / 1e3
    side = f"{more_us:.1f} us more"
    if more_us < 0:
        side = f"{-more_us:.1f} us less, lost to its conversions"
    return f"runner-up: {choice.runner_up}, {side}"
