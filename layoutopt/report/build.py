"""Make the report of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutopt.candidate import Candidate
from layoutopt.evaluated import OPTIMIZED, UNCHANGED, Evaluation
from layoutopt.form_name import form_name
from layoutopt.graph import Graph
from layoutopt.lowering import Lowered
from layoutopt.options import Objective
from layoutopt.planner import GraphPlan
from layoutopt.profiles.target import Target
from layoutopt.report.census import Census, total
from layoutopt.report.compared import verification_report
from layoutopt.report.moves import (
    compiled_moves,
    contractions_of,
    conversions_of,
    labels_of,
    moves_inside,
)
from layoutopt.report.report import (
    CapturedReport,
    ChoiceReport,
    FlagSetReport,
    IoLayoutReport,
    MoveReport,
    RefusalReport,
    Report,
    Side,
    SolverReport,
    WeightsReport,
)
from layoutopt.report.validation import Validation, validate
from layoutopt.verified import Verification
from layoutopt.weight_budget import WeightBudget, weight_bytes


@dataclass(frozen=True)
class Outcome:
    """All that the report is made from."""

    model: str
    target: Target
    cost_source: str
    names: tuple[str, ...]
    graphs: tuple[Graph, ...]
    """The functions as they came."""
    plans: tuple[GraphPlan, ...]
    lowered: tuple[Lowered, ...]
    verification: Verification
    evaluation: Evaluation | None
    dispatches: tuple[int | None, int | None]
    """Before and after, where the modules were compiled but not run."""
    winner: str
    compile_flags: tuple[str, ...]
    seconds: dict[str, float]
    barriers: tuple[RefusalReport, ...] = ()
    captured: CapturedReport | None = None
    objective: Objective = "latency"
    weight_budget: WeightBudget | None = None


def build_report(outcome: Outcome) -> Report:
    """The report of an optimization."""
    validation = _validation(outcome)
    return Report(
        model=outcome.model,
        profile=outcome.target.name,
        cost_source=outcome.cost_source,
        winner=outcome.winner,
        before=_before(outcome),
        after=_after(outcome),
        solver=_solver(outcome.plans),
        choices=tuple(
            c
            for name, plan in zip(outcome.names, outcome.plans, strict=True)
            for c in _choices(name, plan)
        ),
        conversions=tuple(
            c
            for name, plan in zip(outcome.names, outcome.plans, strict=True)
            for c in conversions_of(name, plan)
        ),
        refusals=tuple(
            RefusalReport(name, r.op, r.rule, r.reason)
            for name, plan in zip(outcome.names, outcome.plans, strict=True)
            for r in plan.refusals
        ),
        barriers=outcome.barriers,
        flag_sets=_flag_sets(outcome.evaluation),
        verification=verification_report(outcome.verification),
        compile_flags=outcome.compile_flags,
        seconds={k: round(v, 3) for k, v in outcome.seconds.items()},
        objective=outcome.objective,
        io_layouts=tuple(
            IoLayoutReport(
                name,
                f"t{t}: {graph.types[t]}",
                "input" if t in graph.inputs else "output",
                str(layout),
            )
            for name, graph, plan in zip(outcome.names, outcome.graphs, outcome.plans, strict=True)
            for t, layout in plan.io.items()
        ),
        compiled_moves=_compiled_moves(outcome, validation),
        measured_on=outcome.evaluation.date_utc if outcome.evaluation else None,
        captured=outcome.captured,
        validation=validation,
        moves_inside=tuple(
            move
            for name, plan in zip(outcome.names, outcome.plans, strict=True)
            for move in moves_inside(name, plan)
        ),
        contractions=contractions_of(outcome.plans),
        weights=_weights(outcome),
    )


def _weights(outcome: Outcome) -> WeightsReport:
    size = sum(map(weight_bytes, outcome.graphs))
    kept = outcome.lowered if outcome.winner == OPTIMIZED else ()
    copies = [c for low in kept for c in low.copied_weights]
    budget = outcome.weight_budget
    return WeightsReport(
        size,
        len(copies),
        sum(kind.size_bytes for kind in copies),
        None if budget is None else budget.size_bytes(size),
    )


def _validation(outcome: Outcome) -> Validation | None:
    if outcome.evaluation is None:
        return None
    mine = outcome.evaluation.result(OPTIMIZED)
    return validate(outcome.plans, mine.calls, mine.fastest_ms) if mine.calls else None


def _compiled_moves(outcome: Outcome, validation: Validation | None) -> tuple[MoveReport, ...]:
    if outcome.evaluation is None or validation is None:
        return ()
    planned = {
        label: row
        for name, plan in zip(outcome.names, outcome.plans, strict=True)
        for label, row in zip(labels_of(plan), conversions_of(name, plan), strict=True)
    }
    return compiled_moves(outcome.evaluation.result(OPTIMIZED).moves, validation, planned)


def _side(
    census: Census, dispatches: int | None, predicted_ns: int | None, measured: float | None
) -> Side:
    predicted = None if predicted_ns is None else predicted_ns / 1e6
    return Side(census.pack, census.unpack, census.transpose, dispatches, predicted, measured)


def _before(outcome: Outcome) -> Side:
    identities = [plan.identity_ns for plan in outcome.plans]
    known = [ns for ns in identities if ns is not None]
    predicted = sum(known) if len(known) == len(identities) else None
    dispatches, measured = outcome.dispatches[0], None
    if outcome.evaluation is not None:
        default = outcome.evaluation.variants[0]
        dispatches, measured = default.dispatches, default.milliseconds
    return _side(total(outcome.graphs), dispatches, predicted, measured)


def _after(outcome: Outcome) -> Side:
    predicted = sum(map(_predicted_ns, outcome.plans))
    planned = total(low.graph for low in outcome.lowered)
    if outcome.evaluation is None:
        return _side(planned, outcome.dispatches[1], predicted, None)
    kept = outcome.evaluation.result(outcome.winner)
    if outcome.winner in (OPTIMIZED, UNCHANGED):
        return _side(planned, kept.dispatches, predicted, kept.milliseconds)
    return _side(total(outcome.graphs), kept.dispatches, None, kept.milliseconds)


def _predicted_ns(plan: GraphPlan) -> int:
    changes = sum(plan.conversion_costs.get(c, 0) for c in plan.choice.conversions)
    return changes + sum(plan.costs[c] for c in plan.choice.candidates)


def _solver(plans: Sequence[GraphPlan]) -> SolverReport:
    order = ["optimal", "feasible", "unknown", "infeasible"]
    solutions = [plan.solution for plan in plans]
    objective = sum(s.objective_ns or 0 for s in solutions)
    bound = sum(s.bound_ns for s in solutions)
    worst = max((s.status.value for s in solutions), key=order.index, default="optimal")
    return SolverReport(
        status=worst.upper(),
        objective_ns=objective,
        bound_ns=bound,
        gap=(objective - bound) / objective if objective else 0.0,
        seconds=round(sum(s.seconds for s in solutions), 3),
        candidates=sum(len(p.costs) + p.unpriced for p in plans),
        classes=sum(len({t for c in p.clusters for t in c.outputs}) for p in plans),
        stop_reason="; ".join(dict.fromkeys(str(s.stop_reason) for s in solutions)),
        priced=sum(len(p.costs) for p in plans),
    )


def _choices(function: str, plan: GraphPlan) -> list[ChoiceReport]:
    rivals: dict[tuple[int, ...], list[Candidate]] = {}
    for candidate in plan.costs:
        made = plan.clusters[candidate.cluster].outputs
        rivals.setdefault(made, []).append(candidate)
    found = []
    for chosen in plan.choice.candidates:
        cluster = plan.clusters[chosen.cluster]
        others = [c for c in rivals.get(cluster.outputs, []) if c != chosen]
        second = min(others, key=plan.costs.__getitem__, default=None)
        found.append(
            ChoiceReport(
                function,
                plan.egraph.graph.name_of(cluster.root),
                _form_name(plan, chosen),
                {
                    f"t{t}": str(layout)
                    for t, layout in chosen.layouts
                    if t in (*cluster.inputs, *cluster.outputs)
                },
                plan.costs[chosen],
                None if second is None else plan.costs[second],
                None if second is None else _form_name(plan, second),
                tuple(f"t{t}" for t in cluster.outputs),
            )
        )
    return sorted(found, key=lambda c: -c.cost_ns)


def _form_name(plan: GraphPlan, candidate: Candidate) -> str:
    return form_name(plan.egraph, plan.clusters[candidate.cluster], candidate)


def described(plan: GraphPlan) -> dict[Candidate, tuple[str, str]]:
    """The op and the form of each chosen candidate, as the report names them."""
    return {
        c: (plan.egraph.graph.name_of(plan.clusters[c.cluster].root), _form_name(plan, c))
        for c in plan.choice.candidates
    }


def _flag_sets(evaluation: Evaluation | None) -> tuple[FlagSetReport, ...]:
    if evaluation is None:
        return ()
    return tuple(
        FlagSetReport(v.name, v.milliseconds, v.spread, v.reason) for v in evaluation.variants
    )
