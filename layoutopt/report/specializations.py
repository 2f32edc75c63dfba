"""What is written for which sizes, and how fast it is at each of those that are planned for."""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.ir.graph import Graph
from layoutopt.ir.planned_sizes import divided, open_sizes
from layoutopt.ir.size_range import body_name, ranges_text, serves
from layoutopt.planning.chosen_sizes import points_of
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.size_grid import size_grid
from layoutopt.report.optimization_result import OptimizationResult
from layoutopt.report.report import AtSizesReport, SpecializationReport
from layoutopt.verification.evaluated import OPTIMIZED, VariantResult


def specializations(outcome: OptimizationResult) -> tuple[SpecializationReport, ...]:
    """The plans of functions that have several."""
    return tuple(
        SpecializationReport(
            name,
            ranges_text(each.ranges),
            body_name(name, each.ranges),
            each.share,
            each.plan.one_body_ns / 1e6,
        )
        for name, plan in zip(outcome.names, outcome.plans, strict=True)
        for each in plan.specializations
    )


def at_sizes(outcome: OptimizationResult) -> tuple[AtSizesReport, ...]:
    """The functions at each size, where several are planned for."""
    named = zip(outcome.names, outcome.graphs, outcome.plans, strict=True)
    return tuple(row for each in named for row in _rows(outcome, *each))


def _rows(
    outcome: OptimizationResult, name: str, graph: Graph, plan: GraphPlan
) -> Iterator[AtSizesReport]:
    points = points_of(graph, outcome.options.sizes)
    if len(points) == 1 or any(block.name == name for block in outcome.blocks):
        return
    default = written = None
    own: tuple[VariantResult, ...] = ()
    if outcome.evaluation is not None:
        own = tuple(v for v in outcome.evaluation.variants if v.name != OPTIMIZED)
        default = own[0]
        written = outcome.evaluation.result(outcome.variant)
    known = {n: s.planned * times for s in open_sizes(graph) for n, times in (divided(s),)}
    predicted = _predicted(outcome, graph, plan)
    in_parts = any(block.function == name for block in outcome.blocks)  # a plan for each
    for place, (weight, values) in enumerate(points):
        sizes = known | dict(values)
        one = None if outcome.original_kept or in_parts else _ms(plan.cost_at_ns(place))
        ranges = next((s.ranges for s in plan.specializations if serves(s.ranges, sizes)), ())
        several = bool(ranges) and not outcome.original_kept
        yield AtSizesReport(
            name,
            dict(values),
            weight,
            ranges_text(ranges) if several else "",
            predicted.get(place) if several else one,
            one if several else None,
            _measured(default, name, place),
            _measured(written, name, place),
            min((ms for v in own if (ms := _measured(v, name, place)) is not None), default=None),
        )


def _predicted(outcome: OptimizationResult, graph: Graph, plan: GraphPlan) -> dict[int, float]:
    """By place of a size, what the plan that serves it is predicted to take there."""
    grid = size_grid(graph, outcome.options.sizes)
    found: dict[int, float] = {}
    for each in plan.specializations:
        served = [box for box in grid.boxes if grid.ranges(box) == each.ranges]
        for box in served:
            for own, place in enumerate(grid.inside(box)):
                ms = _ms(each.plan.cost_at_ns(own))
                if ms is not None:
                    found[place] = ms
    return found


def _ms(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6


def _measured(variant: VariantResult | None, function: str, place: int) -> float | None:
    times = () if variant is None else variant.by_size
    own = (t.milliseconds for t in times if (t.function, t.point) == (function, place))
    return next(own, None)
