"""How good the plan is known to be, and over what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from layoutopt.options import Effort, Objective
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.solver import Status


class SolverStatus(StrEnum):
    """What is known of the answer, from the best to the worst."""

    NOT_RUN = "NOT RUN"  # no function had anything to plan
    OPTIMAL = Status.OPTIMAL.value.upper()
    FEASIBLE = Status.FEASIBLE.value.upper()
    UNKNOWN = Status.UNKNOWN.value.upper()
    INFEASIBLE = Status.INFEASIBLE.value.upper()


@dataclass(frozen=True, slots=True)
class SolverReport:
    """How good the plan is known to be, over all functions."""

    status: SolverStatus
    objective_ns: int
    bound_ns: int
    gap: float
    seconds: float
    candidates: int
    classes: int
    stop_reason: str
    priced: int
    refused: int = 0
    """Candidates that cannot be written, do not compile or compute wrong numbers."""
    bounded: int = 0
    """Candidates without a price: roofs, or prices of candidates like them, say that none pays."""
    effort: Effort = Effort.THOROUGH
    """How much was to be priced of what could be cheaper."""
    regions: int = 0
    """Dispatch regions, left out where prices are estimates."""
    tensors: int = 0
    """Tensors that may take other layouts, those of alternatives included."""
    cut: int = 0
    """Tensors for which more layouts were found than were taken into account."""
    op_limit: bool = False
    """Whether rewriting stopped at a limit in some function, of ops or of tries."""
    rounds_ended: bool = False
    """Whether pricing stopped at its limit of rounds in some function."""
    given: bool = False
    """Whether the plan came from a file: the status and bound are those of its making."""
    added_ns: int = 0
    """What the plan costs beyond the objective: conversions that were added behind the solver."""


def solver_report(
    plans: Sequence[GraphPlan], objective: Objective, runs: Sequence[int] = ()
) -> SolverReport:
    """All functions together: sums, and the worst status.

    ``runs``: how often each plan runs in a call, once where none are given.
    """
    times = runs or [1] * len(plans)
    solutions = [plan.solution for plan in plans]
    objective_ns = sum(n * (s.objective_ns or 0) for n, s in zip(times, solutions, strict=True))
    added_ns = sum(n * plan.cost_ns for n, plan in zip(times, plans, strict=True)) - objective_ns
    bound = sum(n * s.bound_ns for n, s in zip(times, solutions, strict=True))
    statuses = [SolverStatus(s.status.value.upper()) for s in solutions]
    worst = max(statuses, key=[*SolverStatus].index, default=SolverStatus.NOT_RUN)
    found = [plan.searched for plan in plans if plan.searched is not None]
    return SolverReport(
        status=worst,
        objective_ns=objective_ns,
        bound_ns=bound,
        gap=_gap(objective_ns, bound, worst),
        seconds=round(sum(s.seconds for s in solutions), 3),
        candidates=sum(s.enumerated for s in found),
        classes=sum(len({t for c in p.clusters for t in c.outputs}) for p in plans),
        stop_reason="; ".join(dict.fromkeys(str(s.stop_reason) for s in solutions)),
        priced=sum(s.priced for s in found),
        refused=sum(s.refused for s in found),
        bounded=sum(s.bounded for s in found),
        effort=min((s.effort for s in found), key=[*Effort].index, default=Effort.THOROUGH),
        regions=sum(s.regions for s in found),
        tensors=sum(s.tensors for s in found),
        cut=sum(s.cut for s in found),
        op_limit=any(s.op_limit for s in found),
        rounds_ended=any(s.rounds_ended for s in found),
        given=any(plan.searched is None for plan in plans),
        added_ns=max(0, added_ns) if objective is Objective.LATENCY else 0,
    )


def _gap(objective_ns: int, bound_ns: int, status: SolverStatus) -> float:
    if status is SolverStatus.UNKNOWN:
        return 1.0  # nothing is known of the function that no plan was found for
    return (objective_ns - bound_ns) / objective_ns if objective_ns else 0.0


def solver_text(solver: SolverReport, objective: Objective) -> str:
    """One sentence: the status, over what, the limits that were met, the gap."""
    if solver.status is SolverStatus.NOT_RUN:
        return "Solver: not run, there was nothing to plan"
    goal = _goal(solver, objective)
    if solver.given:
        return f"Solver: not run, the plan was given; when it was made: {solver.status}, {goal}"
    left_out = ", ".join(_left_out(solver))
    over = f"{solver.priced} of {solver.candidates} candidates priced"
    limits = "".join(f"; {limit}" for limit in _limits(solver))
    answer = f"gap {100 * solver.gap:.4f} %, {goal}"
    if solver.status is SolverStatus.UNKNOWN:
        answer = "no plan was found for some function, which stays as it came"
    return (
        f"Solver: {solver.status} over {over}{f' ({left_out})' if left_out else ''}{limits}; "
        f"{answer}; {solver.seconds:.2f} s ({solver.stop_reason})"
    )


def _goal(solver: SolverReport, objective: Objective) -> str:
    match objective:
        case Objective.LATENCY:
            cost_ms, bound_ms = solver.objective_ns / 1e6, solver.bound_ns / 1e6
            return f"objective {cost_ms:.3f} ms, bound {bound_ms:.3f} ms"
        case Objective.CONVERSIONS:
            return "fewest conversions, then the smallest"
        case _:
            assert_never(objective)


_BOUNDED = {
    Effort.QUICK: "not priced, as candidates like them were dearer",
    Effort.NORMAL: "excluded by lower bounds, assumed or learned from candidates like them",
    Effort.THOROUGH: "excluded by assumed lower bounds",
}


def _left_out(solver: SolverReport) -> Iterator[str]:
    if solver.bounded:
        yield f"{solver.bounded} {_BOUNDED[solver.effort]}"
    if solver.refused:
        yield f"{solver.refused} refused"
    if solver.regions:
        yield f"{solver.regions} dispatch regions that are not estimated"


def _limits(solver: SolverReport) -> Iterator[str]:
    if solver.cut:
        yield f"layouts cut on {solver.cut} of {solver.tensors} tensors"
    if solver.op_limit:
        yield "rewriting stopped at its limit"
    if solver.rounds_ended:
        yield "pricing stopped at its limit of rounds"
    if solver.added_ns:
        yield (
            f"{solver.added_ns / 1e3:.1f} us of conversions added behind the solver, "
            "which its objective and bound do not hold"
        )
