"""An integer program over variables in [0, 1]: its relaxation by HiGHS, answers by CP-SAT.

The relaxation grows by rows and is solved from where it was, in a tenth of the time that it takes
from the start; mostly it has no fractions in the end, and is the answer. Where it has some,
learning clauses finds and proves answers four to ten times as fast as branching on the relaxation
does (blocks of BERT), as far as all coefficients are whole; with a budget in bytes they are not,
and HiGHS branches.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np
from ortools.sat.python import cp_model

Term = tuple[int, float]  # (variable, coefficient)

_SHORTEST_LIMIT_S = 0.01  # a limit of 0 would mean no limit
_SMALLEST_GAP_NS = 0.5  # costs are whole
_MOST_NS = 2**52
"""Costs in all up to which sums of whole numbers stay exact."""
_WHOLE = 1e-6
"""How far from a whole number a value of a relaxation may be that counts as one."""
_CLAUSES_AND_CUTS = 2
"""Level of linear relaxation in CP-SAT: without it no bound moves."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The optimum with fractions: no answer costs less than `bound`.

    An answer with a variable at 1 costs at least `bound` plus its reduced cost.
    """

    bound: float
    reduced_costs: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class ProgramSolution:
    """What the solver found. `values` is None without an answer; `bound` holds for every answer."""

    values: Sequence[float] | None
    bound: float
    infeasible: bool
    timed_out: bool


@dataclass(slots=True)
class IntegerProgram:
    """Grows one variable and one row at a time; minimizes the sum of the costs."""

    costs: list[int] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    row_ids: list[int] = field(default_factory=list)
    column_ids: list[int] = field(default_factory=list)
    coefficients: list[float] = field(default_factory=list)
    relaxation: "_Relaxation | None" = None

    def variable(self, cost: int = 0, *, integer: bool = False) -> int:
        """Add a variable in [0, 1]."""
        self.costs.append(cost)
        self.integer.append(integer)
        return len(self.costs) - 1

    def row(self, low: float, terms: Iterable[Term], high: float) -> None:
        """Demand low <= sum of the terms <= high. Terms of one variable are added up."""
        row = len(self.low)
        sums: dict[int, float] = {}
        for variable, coefficient in terms:
            sums[variable] = sums.get(variable, 0.0) + coefficient
        self.low.append(low)
        self.high.append(high)
        for variable in sorted(sums):
            if sums[variable]:
                self.row_ids.append(row)
                self.column_ids.append(variable)
                self.coefficients.append(sums[variable])

    def at_most(self, terms: Iterable[Term], high: float) -> None:
        """Demand that the sum of the terms is at most `high`."""
        self.row(-math.inf, terms, high)

    def relax(self, time_limit_s: float) -> Relaxed | None:
        """Minimize with fractions; None if there was no time for it, or no answer."""
        if self.relaxation is None or self.relaxation.columns != len(self.costs):
            self.relaxation = _Relaxation(self)
        return self.relaxation.solved(self, time_limit_s)

    def whole(self, relaxed: Relaxed | None) -> "ProgramSolution | None":
        """The answer that a relaxation is; None where what has to be whole is not."""
        if relaxed is None:
            return None
        rounded = [float(round(value)) for value in relaxed.values]
        off = (
            abs(value - near)
            for value, near, whole in zip(relaxed.values, rounded, self.integer, strict=True)
            if whole
        )
        if max(off, default=0.0) > _WHOLE:
            return None
        return ProgramSolution(rounded, relaxed.bound, infeasible=False, timed_out=False)

    def solve(self, time_limit_s: float, keep: Sequence[bool], gap: float = 0.0) -> ProgramSolution:
        """Minimize, with the variables not to keep held at 0, to a gap relative to the answer.

        Deterministic, unless the time limit strikes. The variables that are not integer may be
        taken as such: where all others are whole, a whole value of them is as good.
        """
        if sum(self.costs) < _MOST_NS and all(c.is_integer() for c in self.coefficients):
            return self._solve_by_clauses(time_limit_s, keep, gap)
        return self._solve_by_branching(time_limit_s, keep, gap)

    def _solve_by_branching(
        self, time_limit_s: float, keep: Sequence[bool], gap: float
    ) -> ProgramSolution:
        highs = _highs(self, [float(kept) for kept in keep])
        _add_rows(highs, self, 0, 0)
        whole = [place for place, integer in enumerate(self.integer) if integer]
        kinds = [highspy.HighsVarType.kInteger] * len(whole)
        highs.changeColsIntegrality(len(whole), np.asarray(whole, np.int32), np.asarray(kinds))
        highs.setOptionValue("mip_rel_gap", gap)
        highs.setOptionValue("mip_abs_gap", _SMALLEST_GAP_NS)
        highs.setOptionValue("time_limit", max(time_limit_s, _SHORTEST_LIMIT_S))
        highs.run()
        status, info = highs.getModelStatus(), highs.getInfo()
        answered = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return ProgramSolution(
            values=list(highs.getSolution().col_value) if answered else None,
            bound=info.mip_dual_bound if whole else info.objective_function_value,
            infeasible=status == highspy.HighsModelStatus.kInfeasible,
            timed_out=status == highspy.HighsModelStatus.kTimeLimit,
        )

    def _solve_by_clauses(
        self, time_limit_s: float, keep: Sequence[bool], gap: float
    ) -> ProgramSolution:
        model = cp_model.CpModel()
        variables = {i: model.new_bool_var("") for i, kept in enumerate(keep) if kept}
        rows: list[list[tuple[cp_model.IntVar, int]]] = [[] for _ in self.low]
        for row, column, coefficient in zip(
            self.row_ids, self.column_ids, self.coefficients, strict=True
        ):
            if keep[column]:
                rows[row].append((variables[column], int(coefficient)))
        for terms, low, high in zip(rows, self.low, self.high, strict=True):
            reach = sum(abs(factor) for _, factor in terms)
            bounds = max(-reach - 1, math.ceil(max(low, -reach - 1))), math.floor(min(high, reach))
            model.add_linear_constraint(sum(v * factor for v, factor in terms), *bounds)
        model.minimize(sum(v * self.costs[i] for i, v in variables.items() if self.costs[i]))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.linearization_level = _CLAUSES_AND_CUTS
        solver.parameters.relative_gap_limit = gap
        solver.parameters.max_time_in_seconds = max(time_limit_s, _SHORTEST_LIMIT_S)
        status = solver.solve(model)
        answered = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        values = [0.0] * len(self.costs)
        for i, variable in variables.items() if answered else ():
            values[i] = float(solver.boolean_value(variable))
        return ProgramSolution(
            values if answered else None,
            solver.best_objective_bound if answered or status == cp_model.UNKNOWN else math.inf,
            status == cp_model.INFEASIBLE,
            status in (cp_model.UNKNOWN, cp_model.FEASIBLE),
        )


class _Relaxation:
    """A program without whole numbers, in a solver that keeps the rows it has and its basis."""

    def __init__(self, program: IntegerProgram) -> None:
        self.columns = len(program.costs)
        self._rows = self._terms = 0
        self._highs = _highs(program, [1.0] * self.columns)

    def solved(self, program: IntegerProgram, time_limit_s: float) -> Relaxed | None:
        """Its optimum with the rows that the program has now; None where there is none in time."""
        _add_rows(self._highs, program, self._rows, self._terms)
        self._rows, self._terms = len(program.low), len(program.row_ids)
        # its clock goes on from one run to the next
        until_s = self._highs.getRunTime() + max(time_limit_s, _SHORTEST_LIMIT_S)
        self._highs.setOptionValue("time_limit", until_s)
        self._highs.run()
        found = self._highs.getSolution()
        optimal = self._highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        if not optimal or not found.dual_valid:
            return None
        bound = self._highs.getInfo().objective_function_value
        return Relaxed(bound, list(found.col_dual), list(found.col_value))


def _highs(program: IntegerProgram, upper: Sequence[float]) -> Any:
    """A solver with the variables of a program, between 0 and what is given, and no rows."""
    highs = highspy.Highs()
    for option, value in (("output_flag", False), ("random_seed", 1), ("threads", 1)):
        highs.setOptionValue(option, value)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.costs), 0
    model.col_cost_ = np.asarray(program.costs, np.float64)
    model.col_lower_ = np.zeros(len(program.costs))
    model.col_upper_ = np.asarray(upper, np.float64)
    highs.passModel(model)
    return highs


def _add_rows(highs: Any, program: IntegerProgram, rows: int, terms: int) -> None:
    """Add the rows of a program that a solver lacks, which has so many rows and terms of it."""
    row_ids = np.asarray(program.row_ids[terms:], np.int64)
    highs.addRows(
        len(program.low) - rows,
        np.asarray(program.low[rows:], np.float64),
        np.asarray(program.high[rows:], np.float64),
        len(row_ids),
        np.searchsorted(row_ids, np.arange(rows, len(program.low))).astype(np.int32),
        np.asarray(program.column_ids[terms:], np.int32),
        np.asarray(program.coefficients[terms:], np.float64),
    )
