"""The model before and after: what was counted, predicted and measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from layoutopt.mlir.read.census import ModuleCensus
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.prediction import Range, Step, ratio_of, spread_of, steps_of
from layoutopt.pricing.analytic.estimate import estimate_steps
from layoutopt.pricing.prices import Price
from layoutopt.report.optimization_result import OptimizationResult
from layoutopt.report.report import Side


def before(outcome: OptimizationResult) -> Side:
    """The model as it came."""
    predicted, spread = None, None
    identities = [plan.identity_ns for plan in outcome.plans]
    runs = outcome.runs
    known = [n * ns for n, ns in zip(runs, identities, strict=True) if ns is not None]
    compiled = outcome.compiled
    if compiled is not None and compiled.is_priced:
        predicted, spread = (
            _sum_ns(compiled_steps(outcome)[0]),
            spread_of(compiled_steps(outcome)[0]),
        )
    elif len(known) == len(identities) and outcome.is_predicted and not original_refused(outcome):
        came = _came(outcome)
        if all(step.price.compiles for step in came):
            predicted, spread = sum(known), spread_of(came)
    measured = None
    if outcome.evaluation is not None:
        measured = outcome.evaluation.variants[0].milliseconds
    return _side(outcome.came, outcome.dispatches.before, predicted, spread, measured)


def after(outcome: OptimizationResult) -> Side:
    """The module that was written."""
    predicted, spread = None, None
    compiled = outcome.compiled
    if compiled is not None and (compiled.is_priced or compiled.original_refused):
        predicted, spread = (
            _sum_ns(compiled_steps(outcome)[1]),
            spread_of(compiled_steps(outcome)[1]),
        )
    elif not outcome.original_kept and outcome.is_predicted:
        predicted = sum(n * p.cost_ns for n, p in zip(outcome.runs, outcome.plans, strict=True))
        spread = spread_of(_planned(outcome))
    measured = None
    if outcome.evaluation is not None:
        measured = outcome.evaluation.result(outcome.variant).milliseconds
    return _side(outcome.written, outcome.dispatches.after, predicted, spread, measured)


def original_refused(outcome: OptimizationResult) -> str:
    """Why iree-compile takes only the written module for a target that is not here; else empty."""
    return "" if outcome.compiled is None else outcome.compiled.original_refused


def _side(
    census: ModuleCensus,
    dispatches: int | None,
    predicted_ns: int | None,
    spread: Range | None,
    measured_ms: float | None,
) -> Side:
    return Side(
        census.count("pack"),
        census.count("unpack"),
        census.count("transpose"),
        dispatches,
        None if predicted_ns is None else predicted_ns / 1e6,
        measured_ms,
        census.im2col,
        None if spread is None else (spread.low / 1e6, spread.high / 1e6),
    )


def _came(outcome: OptimizationResult) -> list[Step]:
    return [
        step
        for place, p, n in _weighed(outcome)
        for step in steps_of(place, p.identity, p.prices, n)
    ]


def _planned(outcome: OptimizationResult) -> list[Step]:
    return [
        step
        for place, p, n in _weighed(outcome)
        for step in steps_of(place, (*p.choice.candidates, *p.choice.conversions), p.prices, n)
    ]


def _weighed(outcome: OptimizationResult) -> Iterator[tuple[object, GraphPlan, float]]:
    """All that is written, each with what it counts: the runs of a call, of sizes their share."""
    for place, (plan, runs) in enumerate(zip(outcome.plans, outcome.runs, strict=True)):
        if not plan.specializations:
            yield place, plan, runs
        for each in plan.specializations:
            yield (place, each.ranges), each.plan, runs * each.share


def speedup_range(outcome: OptimizationResult) -> tuple[float, float] | None:
    """Of the predicted times; None where nothing is an estimate."""
    if before(outcome).predicted_ms is None or after(outcome).predicted_ms is None:
        return None
    compiled = outcome.compiled
    if compiled is not None and compiled.is_priced:
        found = ratio_of(*compiled_steps(outcome))
    else:
        found = ratio_of(_came(outcome), _planned(outcome))
    return None if found is None else (found.low, found.high)


def compiled_steps(outcome: OptimizationResult) -> tuple[list[Step], list[Step]]:
    """What the compiled modules run before and after, dispatch by dispatch, with its price.

    A kernel that both run is the same step: its error is the same on both sides.
    """
    assert outcome.compiled is not None
    sides: tuple[list[Step], list[Step]] = [], []
    for share, *pair in outcome.compiled.shares:
        for steps, facts in zip(sides, pair, strict=True):
            seen: Counter[object] = Counter()
            for made in facts.steps:
                estimate = estimate_steps((made,), outcome.target)
                key = made.kernel or (made.name, made.transfer_bytes)
                seen[key] += 1
                ns = round(share * estimate.robust_ns)
                price = Price(ns, "", estimate.uncertainty, estimated=True)
                steps.append(Step((key, share, seen[key]), price))
    return sides


def _sum_ns(steps: Sequence[Step]) -> int:
    return round(sum(step.price.nominal_ns for step in steps))
