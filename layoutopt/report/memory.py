"""What a call holds in memory, counted and planned, and what plans with less of it cost."""

from __future__ import annotations

from layoutopt.report.optimization_result import OptimizationResult
from layoutopt.report.resources import MemoryReport, TradeOffReport
from layoutopt.verification.evaluated import OPTIMIZED


def memory_report(outcome: OptimizationResult) -> MemoryReport | None:
    """Of the functions that are planned, the one that takes the most counts."""
    if not outcome.plans:
        return None
    before, after, how = _counted(outcome)
    budget = outcome.options.memory_budget
    known = budget is not None and not (budget.percent and before is None)
    return MemoryReport(
        before,
        after,
        max(body.peak_bytes for plan in outcome.plans for body in plan.bodies),
        budget.size_bytes(before or 0) if budget is not None and known else None,
        how,
    )


def _counted(outcome: OptimizationResult) -> tuple[int | None, int | None, str]:
    """Before and after, and how that was counted."""
    if outcome.evaluation is not None:
        own = outcome.evaluation.variants
        before = next((v.held_bytes for v in own if v.held_bytes is not None), None)
        kept = outcome.winner if outcome.winner in {v.name for v in own} else OPTIMIZED
        after = outcome.evaluation.result(kept).held_bytes
        how = "by the device's allocator" if after is not None else "not counted"
        return before, after, how
    if outcome.compiled is not None:
        pair = outcome.compiled.before.held_bytes, outcome.compiled.after.held_bytes
        return *pair, "in the compiled modules"
    return None, None, "not counted: the modules were not run"


def trade_off_reports(outcome: OptimizationResult) -> tuple[TradeOffReport, ...]:
    """The points of all functions that are planned together, the plan of this run first."""
    return tuple(
        TradeOffReport(
            name,
            point.resource.value,
            point.budget_bytes,
            point.size_bytes,
            None if point.cost_ns is None else point.cost_ns / 1e6,
            point.gap,
        )
        for name, plan in zip(outcome.names, outcome.plans, strict=True)
        for point in plan.trade_offs
    )
