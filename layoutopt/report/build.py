"""Make the report of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.candidates.candidate import Candidate
from layoutopt.compiler.installed import assumption, installed_version
from layoutopt.ir.graph import Constant, Opaque
from layoutopt.ir.planned_sizes import divided, open_sizes
from layoutopt.ir.size import MOST, Symbol
from layoutopt.ir.weights import weight_bytes
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.pricing.pricers import weights_of
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.target import Rates, Target
from layoutopt.report.census import came_with_the_model, discrepancies
from layoutopt.report.checks import UncheckedReport
from layoutopt.report.compared import verification_report
from layoutopt.report.kernels import kernel_reports
from layoutopt.report.memory import memory_report, trade_off_reports
from layoutopt.report.moves import (
    compiled_moves,
    contractions_of,
    conversions_of,
    labels_of,
    moves_inside,
)
from layoutopt.report.optimization_result import OptimizationResult
from layoutopt.report.report import (
    CarriedReport,
    ChoiceReport,
    FlagSetReport,
    IoLayoutReport,
    MoveReport,
    OpsReport,
    RefusalReport,
    Report,
    SizeReport,
    WeightsReport,
)
from layoutopt.report.roofline import peak_rates, roof_of
from layoutopt.report.sides import after, before, original_refused, speedup_range
from layoutopt.report.solver import solver_report
from layoutopt.report.specializations import at_sizes, specializations
from layoutopt.report.validation import Validation, validate
from layoutopt.verification.evaluated import OPTIMIZED, VariantResult


def build_report(outcome: OptimizationResult) -> Report:
    """The report of an optimization."""
    validation = _validation(outcome)
    rates = peak_rates(outcome.target, outcome.options.threads)
    kept = outcome.original_kept
    pairs = () if kept else outcome.bodies
    inside = tuple(move for name, plan in pairs for move in moves_inside(name, plan))
    conversions = (
        *(c for name, plan in pairs for c in conversions_of(name, plan)),
        *came_with_the_model(outcome.came.runs, kept),
    )
    return Report(
        model=outcome.model,
        profile=outcome.target.name,
        cost_source=_cost_source(outcome),
        winner=outcome.winner,
        before=before(outcome),
        after=after(outcome),
        solver=solver_report(outcome.plans, outcome.options.objective, outcome.runs),
        choices=tuple(
            c for name, plan in outcome.bodies for c in _choices(name, plan, outcome.target, rates)
        ),
        peak_gflops=rates.gflops["f32"],
        memory_gb_s=rates.bandwidth_gb_s,
        conversions=conversions,
        refusals=tuple(
            RefusalReport(name, r.op, r.rule, r.reason)
            for name, plan in zip(outcome.names, outcome.plans, strict=True)
            for r in dict.fromkeys(r for own in (plan, *plan.bodies) for r in own.refusals)
        ),
        barriers=outcome.barriers,
        flag_sets=_timed(outcome.evaluation.variants if outcome.evaluation else ()),
        peers=_timed(outcome.evaluation.peers if outcome.evaluation else ()),
        verification=verification_report(outcome.verification),
        compile_flags=outcome.compile_flags,
        seconds={k: round(v, 3) for k, v in outcome.seconds.items()},
        objective=outcome.options.objective,
        io_layouts=tuple(
            IoLayoutReport(
                name,
                f"t{t}: {graph.types[t]}",
                "input" if t in graph.inputs else "output",
                str(layout),
            )
            for name, graph, plan in zip(outcome.names, outcome.graphs, outcome.plans, strict=True)
            for t, layout in plan.io.items()
            if not kept
        ),
        compiled_moves=() if kept else _compiled_moves(outcome, validation),
        measured_on=outcome.evaluation.date_utc if outcome.evaluation else None,
        captured=outcome.captured,
        validation=validation,
        moves_inside=inside,
        contractions=None if kept else contractions_of([plan for _, plan in outcome.bodies]),
        weights=_weights(outcome),
        memory=memory_report(outcome),
        trade_offs=trade_off_reports(outcome),
        weights_from=_weights_from(outcome),
        ops=_ops(outcome),
        unchecked=tuple(
            UncheckedReport(name, note.op, f"{note.rule}: {note.reason}")
            for name, plan in outcome.bodies
            for note in plan.notes
        ),
        discrepancies=tuple(
            discrepancies(outcome.written, (*conversions, *inside), outcome.within)
        ),
        not_verified=_not_run(outcome) if outcome.evaluation is None else "",
        not_timed=_not_run(outcome) if outcome.evaluation is None else "",
        dispatches_by=outcome.dispatches.how,
        predicted_speedup_range=speedup_range(outcome),
        compiler_assumed=assumption(installed_version()),
        kept_for=outcome.kept_for,
        original_refused=original_refused(outcome),
        lost_before=outcome.lost_before,
        blocks=outcome.blocks,
        carried=() if kept else _carried(outcome),
        kernels=kernel_reports(outcome.compiled, outcome.target),
        sizes=tuple(
            _size(name, symbol, outcome)
            for name, graph in zip(outcome.names, outcome.graphs, strict=True)
            for symbol in open_sizes(graph)
        ),
        specializations=() if kept else specializations(outcome),
        at_sizes=at_sizes(outcome),
        decomposed=outcome.decomposed,
        restated=outcome.restated,
        written_out={} if kept else dict(outcome.written_out),
    )


def _carried(outcome: OptimizationResult) -> tuple[CarriedReport, ...]:
    found = {
        end.name: CarriedReport(end.name, str(graph.types[end.tensor]), str(end.layout))
        for graph, plan in zip(outcome.graphs, outcome.plans, strict=True)
        for end in plan.ends.carried
        if not end.layout.is_row_major
    }
    return tuple(found.values())


def _size(function: str, symbol: Symbol, outcome: OptimizationResult) -> SizeReport:
    name, divisor = divided(symbol)
    low = symbol.low * divisor
    own = (size.sizes for size in outcome.options.sizes if size.name == name)
    planned = next(own, (symbol.planned * divisor,))
    high = None if symbol.high >= MOST // divisor else symbol.high * divisor
    dims = tuple(dim for dim, called in outcome.size_names.items() if called == name)
    return SizeReport(function, name, low, high, planned, dims)


def _cost_source(outcome: OptimizationResult) -> PriceSource:
    """Where prices came from; those of one run all come from one place."""
    if outcome.plans:
        return outcome.plans[0].source
    return PriceSource.MEASURED if outcome.target.measurable else PriceSource.ANALYTIC


def _weights_from(outcome: OptimizationResult) -> str:
    if _cost_source(outcome) is not PriceSource.MEASURED:
        return ""
    return weights_of(outcome.target, outcome.options, outcome.weight_reuse).value


def _not_run(outcome: OptimizationResult) -> str:
    """Why the modules were not run."""
    if not outcome.plans:
        return "nothing was planned"
    return f"{outcome.target.name} is not here"


def _ops(outcome: OptimizationResult) -> OpsReport:
    planned = sum(
        not isinstance(op, Opaque | Constant) and not all(t in graph.constants for t in op.outputs)
        for graph in outcome.graphs
        for op in graph.ops
    )
    return OpsReport(planned, len(outcome.barriers))


def _weights(outcome: OptimizationResult) -> WeightsReport:
    size = weight_bytes(outcome.graphs)
    budget = outcome.options.weight_budget
    return WeightsReport(
        size,
        len(outcome.copies),
        sum(outcome.copies),
        None if budget is None else budget.size_bytes(size),
    )


def _validation(outcome: OptimizationResult) -> Validation | None:
    if outcome.evaluation is None:
        return None
    mine = outcome.evaluation.result(OPTIMIZED)
    if not mine.calls:
        return None
    runs = outcome.runs
    whole_ns = sum(n * plan.cost_ns for n, plan in zip(runs, outcome.plans, strict=True))
    return validate(
        outcome.at_first_sizes,
        mine.calls,
        mine.fastest_ms,
        runs,
        whole_ns,
        outcome.alone,
    )


def _compiled_moves(
    outcome: OptimizationResult, validation: Validation | None
) -> tuple[MoveReport, ...]:
    if outcome.evaluation is None or validation is None:
        return ()
    planned = {
        label: row
        for name, plan in outcome.bodies
        for label, row in zip(labels_of(plan), conversions_of(name, plan), strict=True)
    }
    return compiled_moves(outcome.evaluation.result(OPTIMIZED).moves, validation, planned)


def _choices(function: str, plan: GraphPlan, target: Target, rates: Rates) -> list[ChoiceReport]:
    alternatives: dict[tuple[int, ...], list[Candidate]] = {}
    for candidate in plan.costs:
        if candidate in plan.prices and not plan.prices[candidate].compiles:
            continue  # it fails here, and its cost is a guess
        made = plan.clusters[candidate.cluster].outputs
        alternatives.setdefault(made, []).append(candidate)
    found = []
    there = {t for c in plan.choice.candidates for t in plan.clusters[c.cluster].outputs}
    there.update(plan.egraph.graph.inputs)
    for chosen in plan.choice.candidates:
        cluster = plan.clusters[chosen.cluster]
        others = [c for c in alternatives.get(cluster.outputs, []) if c != chosen]
        in_its_place = [c for c in others if there.issuperset(plan.clusters[c.cluster].inputs)]
        second = min(in_its_place, key=plan.costs.__getitem__, default=None)
        roof = roof_of(plan, chosen, target, rates)
        found.append(
            ChoiceReport(
                function,
                plan.egraph.graph.name_of(cluster.root),
                plan.form_name(chosen),
                {
                    f"t{t}": str(layout)
                    for t, layout in chosen.layouts
                    if t in (*cluster.inputs, *cluster.outputs)
                },
                plan.costs[chosen],
                None if second is None else plan.costs[second],
                None if second is None else plan.form_name(second),
                tuple(f"t{t}" for t in cluster.outputs),
                tried=len(others) + 1,
                operations=None if roof is None else roof.operations,
                size_bytes=None if roof is None else roof.size_bytes,
                roof_ns=None if roof is None else roof.least_ns,
            )
        )
    return sorted(found, key=lambda c: -c.cost_ns)


def _timed(results: Sequence[VariantResult]) -> tuple[FlagSetReport, ...]:
    return tuple(
        FlagSetReport(v.name, v.milliseconds, v.spread, v.reason, v.fastest_ms) for v in results
    )
