"""An integer program over variables in [0, 1]: its relaxation by HiGHS, answers by CP-SAT.

Learning clauses finds and proves answers four to ten times as fast as branching on the relaxation
does (blocks of BERT), as far as all coefficients are whole; with a budget in bytes they are not,
and HiGHS branches. HiGHS is called through MathOpt and not through OR-Tools' model builder, which
repeats the objective as the bound, stops at a relative gap of 1e-4 and calls that OPTIMAL, and
loses the answer at a time limit. MathOpt passes on the dual bound and the reduced costs.
"""

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ortools.math_opt import model_pb2
from ortools.math_opt.python import mathopt
from ortools.sat.python import cp_model

Term = tuple[int, float]  # (variable, coefficient)

_SHORTEST_LIMIT_S = 0.01  # a limit of 0 would mean no limit
_SMALLEST_GAP_NS = 0.5  # costs are whole
_MOST_NS = 2**52
"""Costs in all up to which sums of whole numbers stay exact."""
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
        count = len(self.costs)
        result = self._run(self._proto([False] * count, [1.0] * count), time_limit_s)
        optimal = result.termination.reason == mathopt.TerminationReason.OPTIMAL
        if not optimal or not result.has_dual_feasible_solution():
            return None
        bound = result.termination.objective_bounds.dual_bound
        values = _by_id(result.variable_values(), count)
        return Relaxed(bound, _by_id(result.reduced_costs(), count), values)

    def solve(self, time_limit_s: float, keep: Sequence[bool], gap: float = 0.0) -> ProgramSolution:
        """Minimize, with the variables not to keep held at 0, to a gap relative to the answer.

        Deterministic, unless the time limit strikes. The variables that are not integer may be
        taken as such: where all others are whole, a whole value of them is as good.
        """
        if sum(self.costs) < _MOST_NS and all(c.is_integer() for c in self.coefficients):
            return self._solve_by_clauses(time_limit_s, keep, gap)
        model = self._proto(self.integer, [float(k) for k in keep])
        result = self._run(model, time_limit_s, gap)
        values = None
        if result.has_primal_feasible_solution():
            values = _by_id(result.variable_values(), len(self.costs))
        return ProgramSolution(
            values=values,
            bound=result.termination.objective_bounds.dual_bound,
            infeasible=result.termination.reason == mathopt.TerminationReason.INFEASIBLE,
            timed_out=result.termination.limit == mathopt.Limit.TIME,
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

    def _run(
        self, model: model_pb2.ModelProto, time_limit_s: float, gap: float = 0.0
    ) -> mathopt.SolveResult:
        limit = datetime.timedelta(seconds=max(time_limit_s, _SHORTEST_LIMIT_S))
        return mathopt.solve(
            mathopt.Model.from_model_proto(model),
            mathopt.SolverType.HIGHS,
            params=mathopt.SolveParameters(
                time_limit=limit,
                relative_gap_tolerance=gap,
                absolute_gap_tolerance=_SMALLEST_GAP_NS,
                random_seed=1,
            ),
        )

    def _proto(self, integer: Sequence[bool], upper: Sequence[float]) -> model_pb2.ModelProto:
        model = model_pb2.ModelProto()
        count = len(self.costs)
        model.variables.ids.extend(range(count))
        model.variables.lower_bounds.extend([0.0] * count)
        model.variables.upper_bounds.extend(upper)
        model.variables.integers.extend(integer)
        priced = [v for v in range(count) if self.costs[v]]
        model.objective.linear_coefficients.ids.extend(priced)
        model.objective.linear_coefficients.values.extend(float(self.costs[v]) for v in priced)
        model.linear_constraints.ids.extend(range(len(self.low)))
        model.linear_constraints.lower_bounds.extend(self.low)
        model.linear_constraints.upper_bounds.extend(self.high)
        model.linear_constraint_matrix.row_ids.extend(self.row_ids)
        model.linear_constraint_matrix.column_ids.extend(self.column_ids)
        model.linear_constraint_matrix.coefficients.extend(self.coefficients)
        return model


def _by_id(values: Mapping[mathopt.Variable, float], count: int) -> list[float]:
    listed = [0.0] * count
    for variable, value in values.items():
        listed[variable.id] = value
    return listed
