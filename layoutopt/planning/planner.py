"""Plan one graph: enumerate, price, select."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice, Conversion, is_free, needed_conversions
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.explore import RefusedForm, Space, explore
from layoutopt.candidates.form_name import form_name
from layoutopt.candidates.identity import identity_candidates
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.weights import weight_bytes
from layoutopt.lowering.lower import lower, packs_lowered
from layoutopt.options import Options, WeightBudget
from layoutopt.planning.answer import check_answer
from layoutopt.planning.as_it_came import settle_own
from layoutopt.planning.free_io import (
    chosen_io,
    free_tensors,
    with_one_input_layout,
)
from layoutopt.planning.known_refusals import digest
from layoutopt.planning.lazy_pricing import (
    Priced,
    Question,
    price_all,
    price_by_need,
    without_surcharges,
)
from layoutopt.planning.objective import conversion_objective
from layoutopt.planning.searched import Searched, searched
from layoutopt.planning.selection import Selection, build_selection
from layoutopt.pricing.analytic.estimate import estimate_ns
from layoutopt.pricing.prices import Analytic, Price, Pricer, Work, candidate_work, conversion_work
from layoutopt.pricing.references import References
from layoutopt.profiles.target import Target
from layoutopt.runtime.steps import Clock
from layoutopt.solver import Solution, solve


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
    searched: Searched | None = None
    """What it was chosen among; None where it was given."""
    source: str | None = None
    """``measured`` or ``analytic``; None where the prices came with a plan that was given."""
    identity: tuple[Candidate, ...] = ()
    """The model as it came."""
    prices: Mapping[Candidate | Conversion, Price] = field(default_factory=dict)
    """Those of the choice and of the identity, with their uncertainties."""
    notes: tuple[RefusedForm, ...] = ()
    """Candidates whose results nothing was held against, or with an estimate in place of a
    measurement that failed, and why."""

    @property
    def cost_ns(self) -> int:
        """Prices of all that the plan runs."""
        changes = sum(self.conversion_costs.get(c, 0) for c in self.choice.conversions)
        return changes + sum(self.costs[c] for c in self.choice.candidates)

    @property
    def hinted(self) -> bool:
        """Whether some contraction asks IREE for data tiling."""
        return any(c.hint for c in self.choice.candidates)

    def lowered(self) -> Lowered:
        """The chosen candidates as one graph over row-major tensors."""
        found = lower(self.egraph.graph, self.clusters, self.choice, self.io)
        return packs_lowered(found) if self.lower_packs else found


def plan_graphs(
    graphs: Sequence[Graph],
    target: Target,
    pricer: Pricer,
    options: Options,
    clock: Clock,
    avoided: Sequence[Collection[str]] = (),
) -> tuple[GraphPlan, ...]:
    """Plans of a module's functions; each leaves the next ones what it did not spend.

    ``avoided``: for each function, digests of candidates that do not compile inside the model.
    """
    plans: list[GraphPlan] = []
    left = options.weight_budget
    if left is not None:
        left = WeightBudget(left.size_bytes(sum(map(weight_bytes, graphs))))
    for graph, out in zip(graphs, avoided or [()] * len(graphs), strict=True):
        plan = plan_graph(graph, target, pricer, replace(options, weight_budget=left), clock, out)
        plans.append(plan)
        if left is not None:
            spent = sum(kind.size_bytes for kind in plan.lowered().copied_weights)
            left = WeightBudget(left.amount - spent)
    return tuple(plans)


def plan_graph(
    graph: Graph,
    target: Target,
    pricer: Pricer,
    options: Options,
    clock: Clock,
    avoided: Collection[str] = (),
) -> GraphPlan:
    """The cheapest consistent plan of one function. Raises SolverError where there is none.

    ``avoided``: digests of candidates that do not compile inside the model.
    """
    with clock.stage("enumerate"):
        space = explore(graph, target, options.objective, options.admitted)
    fewest = options.objective == "conversions"
    if fewest:
        pricer = Analytic(target)
    egraph, clusters = space.egraph, space.clusters
    free = free_tensors(egraph.graph) if options.free_io_layout else ()
    refusals = list(space.refusals)
    with clock.stage("price") as progress:
        dropped = {c for c in space.candidates if avoided and digest(c) in avoided}
        reason = "it compiles alone, but not inside the model"
        kept = [
            c
            for c in space.candidates
            if c not in dropped and (pricer.source == "measured" or not clusters[c.cluster].region)
        ]  # an estimate does not tell which regions compile
        refusals += [
            _refused(egraph, clusters, c, reason) for c in space.candidates if c in dropped
        ]
        identity = identity_candidates(egraph, clusters)
        own = (dict.fromkeys(egraph.came), range(egraph.original_ops))
        references = References(egraph.graph, own)
        work, formless = candidate_work(
            egraph.graph, clusters, kept, target, 0, references, identity
        )
        refusals += [_refused(egraph, clusters, c, reason) for c, reason in formless]
        question = _question(space, dict(work), identity, target, free, options)
        known: list[tuple[Work, Price]] = []
        if pricer.source == "measured":
            known = settle_own(
                identity, question.candidates, clusters, references, pricer, progress
            )
        if pricer.source == "measured" and _settled_by_prices(options):
            priced = price_by_need(question, pricer, progress, target, options, known)
        else:
            priced = price_all(question, pricer, progress)
        for key, reason in priced.refused.items():
            refusals.append(
                _refused(egraph, clusters, key, reason)
                if isinstance(key, Candidate)
                else RefusedForm(f"tensor {key[0]}", "conversion", reason)
            )
        notes = [_refused(egraph, clusters, c, note) for c, note in priced.notes.items()]
    conversion_costs = priced.conversion_costs
    with clock.stage("select"):
        selection, solution = priced.answer or _selected(question, priced, options)
        check_answer(selection.problem, solution, options, [*refusals, *notes])
    choice = selection.choice(solution.candidates, solution.conversions)
    costs, solution = without_surcharges(priced, choice.candidates, solution)
    choice = replace(choice, lowered=frozenset(priced.transposed.intersection(choice.conversions)))
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
        sum(costs[c] for c in identity) if costs.keys() >= set(identity) else None,
        io,
        options.lower_packs,
        searched(space, question, priced, len(space.candidates) - len(kept) - len(dropped)),
        pricer.source,
        identity,
        {
            key: priced.prices[key]
            for key in (*choice.candidates, *choice.conversions, *identity)
            if key in priced.prices
        },
        tuple(dict.fromkeys(notes)),
    )


def _settled_by_prices(options: Options) -> bool:
    """Whether the answer of the integer program is the plan: no other search, no other wish."""
    ilp = options.search == "ilp" and options.objective == "latency"
    return ilp and not options.free_io_layout


def _question(
    space: Space,
    work: dict[Candidate, Work],
    own: Sequence[Candidate],
    target: Target,
    free: tuple[int, ...],
    options: Options,
) -> Question:
    graph, clusters = space.egraph.graph, space.clusters
    conversions = needed_conversions(graph, clusters, tuple(work), free)
    lowered = options.lower_packs or (False if options.objective == "conversions" else None)
    changes: dict[Conversion, tuple[Work, ...]] = {}
    for conversion, piece in conversion_work(graph, conversions, target, len(graph.types), lowered):
        changes[conversion] = (*changes.get(conversion, ()), piece)
    budget = None
    if options.weight_budget is not None:
        budget = options.weight_budget.size_bytes(weight_bytes(graph))
    return Question(
        graph,
        clusters,
        work,
        changes,
        tuple(c for c in conversions if is_free(graph, c)),
        free,
        {c: estimate_ns(work[c].form, target) for c in own if c in work},
        budget,
    )


def _selected(question: Question, priced: Priced, options: Options) -> tuple[Selection, Solution]:
    """The cheapest plan where everything has its price."""
    costs, changes = priced.costs, priced.conversion_costs
    if options.objective == "conversions":
        costs, paid = conversion_objective(
            {c: w.form for c, w in question.candidates.items()},
            costs,
            {c: forms[0].form for c, forms in question.conversions.items()},
        )
        changes = changes | paid
    selection = build_selection(
        question.graph,
        question.clusters,
        costs,
        changes,
        question.free,
        question.weight_budget_bytes,
    )
    return selection, solve(selection.problem, options.search, options.time_limit_s)


def _refused(
    egraph: EGraph, clusters: tuple[Cluster, ...], candidate: Candidate, reason: str
) -> RefusedForm:
    cluster = clusters[candidate.cluster]
    form = form_name(egraph, cluster, candidate)
    return RefusedForm(egraph.graph.name_of(cluster.root), form, reason)
