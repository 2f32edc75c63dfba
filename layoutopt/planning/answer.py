"""Whether the solver has answered, and what to do about it where it has not."""

from __future__ import annotations

from dataclasses import replace

from layoutopt.candidates.explore import RefusedForm
from layoutopt.errors import InputError, SolverError
from layoutopt.options import Options
from layoutopt.solver import Problem, Solution, Status, StopReason, TimeLimit, check, least_memory


def check_answer(
    problem: Problem,
    solution: Solution,
    options: Options,
    limit: TimeLimit,
    refusals: list[RefusedForm],
) -> None:
    """Raises SolverError for what is not an answer, InputError where the budget is why."""
    if solution.status in (Status.INFEASIBLE, Status.UNKNOWN):
        if problem.weight_budget_bytes is not None:
            _check_budget(problem, options, limit)
        check_memory(problem, options.time_limit_s)
        raise SolverError(
            "selection", "a consistent plan", solution.status.value, _advice(solution, refusals)
        )
    faults = check(problem, solution)
    if faults:
        raise SolverError(
            "selection", "an answer that checks", faults[0], "report this as a bug of layoutopt"
        )


def _advice(solution: Solution, refusals: list[RefusedForm]) -> str:
    if solution.stop_reason is StopReason.TIME_LIMIT:
        return "give the solver more time with --time-limit"
    if solution.stop_reason is StopReason.EXHAUSTED:
        return "leave --search out: this one gave up, the integer program does not"
    if refusals:
        return f"see the refusals; the last one: {refusals[-1].op}: {refusals[-1].reason}"
    return "report this as a bug of layoutopt"


def _check_budget(problem: Problem, options: Options, limit: TimeLimit) -> None:
    """Raises InputError where the budget is why there is no plan, with the size that would do."""
    budget = problem.weight_budget_bytes
    by_size = replace(
        problem,
        candidates=tuple(replace(c, cost_ns=0) for c in problem.candidates),
        conversions=tuple(replace(c, cost_ns=c.size_bytes) for c in problem.conversions),
        weight_budget_bytes=None,
    )
    smallest = limit.solve(by_size)
    if budget is not None and smallest.status is Status.OPTIMAL and smallest.bound_ns > budget:
        raise InputError(
            "--weight-budget",
            f"at least {smallest.bound_ns} bytes for --objective={options.objective}",
            f"{budget}",
            "raise it",
        )


def check_memory(problem: Problem, limit_s: float) -> None:
    """Raises InputError where the memory budget leaves no plan, whatever the costs are.

    Not where that is not known after ``limit_s``.
    """
    budget_bytes = problem.memory.budget_bytes
    if budget_bytes is None or not problem.memory.places:
        return
    least = least_memory(problem, limit_s)
    if least is not None and least.bound_bytes > budget_bytes:
        raise InputError(
            "--memory-budget",
            f"at least {least.peak_bytes} bytes, which the plan with the least takes",
            f"{budget_bytes}",
            "raise it",
        )
