"""Plan one graph: enumerate, price, select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from layoutopt.candidate import Candidate, enumerate_candidates, identity_candidate
from layoutopt.cluster import Cluster, form_clusters
from layoutopt.composite import composite_candidates
from layoutopt.egraph import EGraph, saturate
from layoutopt.errors import InputError, SolverError
from layoutopt.fold import fold_broadcasts
from layoutopt.free_io import (
    chosen_io,
    free_inputs,
    free_outputs,
    with_boundary,
    with_one_input_layout,
)
from layoutopt.graph import Graph
from layoutopt.layout import Layout
from layoutopt.lowering import Lowered, lower, packs_lowered
from layoutopt.objective import conversion_objective, packed_only
from layoutopt.options import Objective, Options
from layoutopt.packing import Menu, load_rule
from layoutopt.prices import Analytic, Pricer, candidate_work, conversion_work
from layoutopt.profiles.target import Target
from layoutopt.selection import (
    Choice,
    Conversion,
    build_selection,
    is_free,
    needed_conversions,
)
from layoutopt.solver import Problem, Solution, Status, check, solve
from layoutopt.space import layout_sets
from layoutopt.start import start_from_neutral
from layoutopt.steps import Clock
from layoutopt.unread import without_unread
from layoutopt.weight_budget import WeightBudget, weight_bytes

_MOST = 6
"""Layouts of one tensor at most: each is measured."""
_MOST_FEWEST = 12
"""The same where nothing is measured."""


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """A candidate, rewrite or layout that was not taken into account, and why."""

    op: str
    rule: str
    reason: str


@dataclass(frozen=True)
class GraphPlan:
    """The plan of one function."""

    egraph: EGraph
    clusters: tuple[Cluster, ...]
    choice: Choice
    costs: dict[Candidate, int]
    conversion_costs: dict[Conversion, int]
    solution: Solution
    refusals: tuple[RefusedForm, ...]
    identity_ns: int | None
    """Price of the model as it came; None where a part of it has no price."""
    io: dict[int, Layout] = field(default_factory=dict)
    """Layouts of inputs and outputs that the plan was free to choose."""
    lower_packs: bool = False

    @property
    def hinted(self) -> bool:
        """Whether some contraction asks IREE for data tiling."""
        return any(c.hint for c in self.choice.candidates)

    def lowered(self, row_major_io: bool = False) -> Lowered:
        """The chosen candidates as one graph over row-major tensors.

        ``row_major_io``: take and give row-major tensors though the plan is free not to.
        """
        graph, choice, io = self.egraph.graph, self.choice, self.io
        if row_major_io:
            choice, io = with_boundary(graph, choice, io), {}
        found = lower(graph, self.clusters, choice, io)
        return packs_lowered(found) if self.lower_packs else found


@dataclass(frozen=True)
class Space:
    """All candidates of one function, before they have prices."""

    egraph: EGraph
    clusters: tuple[Cluster, ...]
    candidates: tuple[Candidate, ...]
    refusals: tuple[RefusedForm, ...]


def explore(graph: Graph, target: Target, objective: Objective = "latency") -> Space:
    """Enumerate the candidates of a function."""
    egraph = saturate(fold_broadcasts(start_from_neutral(without_unread(graph))))
    clusters = form_clusters(egraph)
    fewest = objective == "conversions"
    rule = load_rule(target.custom_packing) if target.custom_packing else None
    menu = Menu(target.blocks if fewest else target.tiles, rule, target.op_packings)
    sets = layout_sets(egraph, menu, _MOST_FEWEST if fewest else _MOST)
    hints = bool(target.data_tiling_flag) and not fewest
    candidates, forms = enumerate_candidates(egraph, clusters, sets, hints, menu)
    if fewest:
        candidates = packed_only(egraph.graph, clusters, candidates)
    else:
        composites, refused = composite_candidates(egraph, clusters, sets, hints)
        candidates, forms = (*candidates, *composites), (*forms, *refused)
    name = egraph.graph.name_of
    refusals = [RefusedForm(name(r.op), r.rule, r.reason) for r in egraph.refusals]
    refusals += [RefusedForm(name(op), "layout", reason) for op, reason in sets.refusals]
    refusals += [RefusedForm(name(op), "form", reason) for op, reason in forms]
    return Space(egraph, clusters, candidates, tuple(dict.fromkeys(refusals)))


def plan_graphs(
    graphs: Sequence[Graph], target: Target, pricer: Pricer, options: Options, clock: Clock
) -> tuple[GraphPlan, ...]:
    """Plans of a module's functions; each leaves the next ones what it did not spend."""
    plans: list[GraphPlan] = []
    left = options.weight_budget
    if left is not None:
        left = WeightBudget(left.size_bytes(sum(map(weight_bytes, graphs))))
    for graph in graphs:
        plan = plan_graph(graph, target, pricer, replace(options, weight_budget=left), clock)
        plans.append(plan)
        if left is not None:
            spent = sum(kind.size_bytes for kind in plan.lowered().copied_weights)
            left = WeightBudget(left.amount - spent)
    return tuple(plans)


def plan_graph(
    graph: Graph, target: Target, pricer: Pricer, options: Options, clock: Clock
) -> GraphPlan:
    """The cheapest consistent plan of one function. Raises SolverError where there is none."""
    with clock.stage("enumerate"):
        space = explore(graph, target, options.objective)
    fewest = options.objective == "conversions"
    if fewest:
        pricer = Analytic(target)
    egraph, clusters = space.egraph, space.clusters
    free: tuple[int, ...] = ()
    if options.free_io_layout:
        free = (*free_inputs(egraph.graph), *free_outputs(egraph.graph))
    refusals = list(space.refusals)
    with clock.stage("price") as progress:
        work, formless = candidate_work(egraph.graph, clusters, space.candidates, target, 0)
        refusals += [_refused(egraph, clusters, c, reason) for c, reason in formless]
        costs: dict[Candidate, int] = {}
        prices = pricer.price([w for _, w in work], progress)
        for (candidate, _), price in zip(work, prices, strict=True):
            if price.cost_ns is None:
                refusals.append(_refused(egraph, clusters, candidate, price.reason))
            else:
                costs[candidate] = price.cost_ns
        conversions = needed_conversions(egraph.graph, clusters, tuple(costs), free)
        lowered = options.lower_packs if options.lower_packs or fewest else None
        changes = conversion_work(egraph.graph, conversions, target, len(clusters), lowered)
        prices = pricer.price([w for _, w in changes], progress)
        conversion_costs = {c: 0 for c in conversions if is_free(egraph.graph, c)}
        transposed: dict[Conversion, bool] = {}
        for (conversion, piece), price in zip(changes, prices, strict=True):
            if price.cost_ns is None:
                refusals.append(RefusedForm(f"tensor {conversion[0]}", "conversion", price.reason))
            elif price.cost_ns < conversion_costs.get(conversion, price.cost_ns + 1):
                conversion_costs[conversion] = price.cost_ns
                transposed[conversion] = piece.lowered
    budget = None
    if options.weight_budget is not None:
        budget = options.weight_budget.size_bytes(weight_bytes(graph))
    with clock.stage("select"):
        weights, change_weights = costs, conversion_costs
        if fewest:
            weights, paid = conversion_objective(
                {c: w.form for c, w in work}, costs, {c: w.form for c, w in changes}
            )
            change_weights = conversion_costs | paid
        selection = build_selection(
            egraph.graph,
            clusters,
            weights,
            change_weights,
            free,
            budget,
        )
        solution = _solved(selection.problem, options, refusals)
    choice = selection.choice(solution.candidates, solution.conversions)
    choice = replace(choice, lowered=frozenset(c for c in choice.conversions if transposed.get(c)))
    io: dict[int, Layout] = {}
    if options.free_io_layout:
        io = chosen_io(egraph.graph, clusters, choice)
        choice = with_one_input_layout(egraph.graph, clusters, choice, io)
    return GraphPlan(
        egraph,
        clusters,
        choice,
        costs,
        conversion_costs,
        solution,
        tuple(dict.fromkeys(refusals)),
        _identity_ns(egraph, clusters, costs),
        io,
        options.lower_packs,
    )


def _solved(problem: Problem, options: Options, refusals: list[RefusedForm]) -> Solution:
    """An answer that was checked. Raises SolverError, or InputError where the budget is why."""
    solution = solve(problem, options.search, options.time_limit_s)
    if solution.status in (Status.INFEASIBLE, Status.UNKNOWN):
        if problem.weight_budget_bytes is not None:
            _check_budget(problem, options)
        raise SolverError(
            "selection", "a consistent plan", solution.status.value, _advice(solution, refusals)
        )
    faults = check(problem, solution)
    if faults:
        raise SolverError(
            "selection", "an answer that checks", faults[0], "report this as a bug of layoutopt"
        )
    return solution


def _advice(solution: Solution, refusals: list[RefusedForm]) -> str:
    if solution.status is Status.UNKNOWN:
        return "give the solver more time with --time-limit"
    if refusals:
        return f"see the refusals; the last one: {refusals[-1].op}: {refusals[-1].reason}"
    return "report this as a bug of layoutopt"


def _check_budget(problem: Problem, options: Options) -> None:
    """Raises InputError where the budget is why there is no plan, with the least that would do."""
    budget = problem.weight_budget_bytes
    by_size = replace(
        problem,
        candidates=tuple(replace(c, cost_ns=0) for c in problem.candidates),
        conversions=tuple(replace(c, cost_ns=c.size_bytes) for c in problem.conversions),
        weight_budget_bytes=None,
    )
    least = solve(by_size, "ilp", options.time_limit_s)
    if budget is not None and least.status is Status.OPTIMAL and least.bound_ns > budget:
        raise InputError(
            "--weight-budget",
            f"at least {least.bound_ns} bytes for --objective={options.objective}",
            f"{budget}",
            "raise it",
        )


def _refused(
    egraph: EGraph, clusters: tuple[Cluster, ...], candidate: Candidate, reason: str
) -> RefusedForm:
    root = clusters[candidate.cluster].root
    rules = " + ".join(egraph.rule[root]) or "as it came"
    hint = ", data-tiled" if candidate.hint else ", packed" if candidate.packed else ""
    return RefusedForm(egraph.graph.name_of(root), f"{rules}{hint}", reason)


def _identity_ns(
    egraph: EGraph, clusters: tuple[Cluster, ...], costs: dict[Candidate, int]
) -> int | None:
    total = 0
    for index, cluster in enumerate(clusters):
        if cluster.root >= egraph.original_ops or not cluster.ops:
            continue
        if _is_part(clusters, cluster):
            continue
        cost = costs.get(identity_candidate(egraph.graph, index, cluster))
        if cost is None:
            return None
        total += cost
    return total


def _is_part(clusters: tuple[Cluster, ...], cluster: Cluster) -> bool:
    """Whether a cluster is what follows another one's root, standing alone for alternatives."""
    return any(other is not cluster and set(cluster.ops) < set(other.ops) for other in clusters)
