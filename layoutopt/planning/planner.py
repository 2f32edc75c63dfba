"""Plan one graph: enumerate, price, select."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.explore import RefusedForm
from layoutopt.candidates.form import Form
from layoutopt.candidates.form_name import form_name
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.weights import constant_names, weight_bytes
from layoutopt.lowering.lower import lower, packs_lowered
from layoutopt.options import Objective, Options, WeightBudget
from layoutopt.planning.answer import check_answer
from layoutopt.planning.as_it_came import price_as_it_came
from layoutopt.planning.copy_budget import HeldCopies
from layoutopt.planning.free_io import (
    chosen_io,
    with_one_input_layout,
)
from layoutopt.planning.lazy_pricing import (
    Priced,
    Text,
    price_all,
    price_lazily,
    without_surcharges,
)
from layoutopt.planning.plan_space import PlanSpace, plan_space
from layoutopt.planning.searched import Searched, searched
from layoutopt.planning.setting import PlanSetting
from layoutopt.pricing.prices import Analytic, Price
from layoutopt.pricing.source import PriceSource
from layoutopt.runtime.progress import Progress
from layoutopt.solver import Search, Solution, Status, StopReason, TimeLimit


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
    source: PriceSource = PriceSource.PLAN
    """Of its prices."""
    identity: tuple[Candidate, ...] = ()
    """The model as it came."""
    prices: Mapping[Candidate | Conversion, Price] = field(default_factory=dict)
    """Of all that was priced, with their uncertainties."""
    notes: tuple[RefusedForm, ...] = ()
    """Candidates whose results were compared with nothing, or with an estimate in place of a
    measurement that failed, and why."""
    space: PlanSpace | None = None
    """What it was chosen from; None where it was given."""
    piece_prices: Mapping[Text, Price] = field(default_factory=dict)
    """Of every piece of work that was priced, a conversion in each of its forms."""

    @property
    def cost_ns(self) -> int:
        """Prices of all that the plan runs."""
        changes = sum(self.conversion_costs.get(c, 0) for c in self.choice.conversions)
        return changes + sum(self.costs[c] for c in self.choice.candidates)

    @property
    def data_tiled(self) -> bool:
        """Whether some contraction asks IREE for data tiling."""
        return any(c.form is Form.DATA_TILED for c in self.choice.candidates)

    def form_name(self, candidate: Candidate) -> str:
        """The form of a candidate as reports name it."""
        return form_name(self.egraph, self.clusters[candidate.cluster], candidate)

    def lowered(self) -> Lowered:
        """The chosen candidates as one graph over row-major tensors."""
        found = lower(self.egraph.graph, self.clusters, self.choice, self.io)
        return packs_lowered(found) if self.lower_packs else found


def plan_graphs(
    graphs: Sequence[Graph], setting: PlanSetting, refused: Sequence[Collection[str]] = ()
) -> tuple[GraphPlan, ...]:
    """Plans of a module's functions; each leaves the next ones what it did not spend.

    ``refused``: for each function, digests of candidates that do not compile inside the model.
    """
    plans: list[GraphPlan] = []
    left = setting.options.weight_budget
    if left is not None:
        left = WeightBudget(left.size_bytes(weight_bytes(graphs)))
    copies: frozenset[Hashable] = frozenset()
    for place, graph in enumerate(graphs):
        names = constant_names(graph, place)
        rest = replace(setting.options, weight_budget=left)
        held = HeldCopies(names, copies)
        plan = plan_graph(
            graph, replace(setting, options=rest), refused[place] if refused else (), held
        )
        plans.append(plan)
        if left is not None:
            made = plan.lowered().copied_weights(names)
            spent = sum(kind.size_bytes for copy, kind in made.items() if copy not in copies)
            left = WeightBudget(left.amount - spent)
            copies |= made.keys()
    return tuple(plans)


def plan_graph(
    graph: Graph,
    setting: PlanSetting,
    refused: Collection[str] = (),
    held: HeldCopies | None = None,
) -> GraphPlan:
    """The cheapest consistent plan of one function. Raises SolverError where there is none.

    ``refused``: digests of candidates that do not compile inside the model. ``held``: copies of
    weights that take nothing of the budget.
    """
    options = setting.options
    counts = options.objective is Objective.CONVERSIONS
    estimated = setting.pricer.source is not PriceSource.MEASURED or counts
    with setting.clock.stage("enumerate"):
        space = plan_space(graph, setting.target, options, estimated, refused)
        if space.budget is not None and held is not None:
            space = replace(space, budget=replace(space.budget, held=held))
    with setting.clock.stage("price") as progress:
        priced = price_space(space, setting, progress)
    with setting.clock.stage("select"):
        return select_plan(space, priced, options, setting.limit)


def price_space(space: PlanSpace, setting: PlanSetting, progress: Progress) -> Priced:
    """Prices of what a plan may use. Where they are measured, of no more than that."""
    options, pricer = setting.options, setting.pricer
    if options.objective is Objective.CONVERSIONS:
        pricer = Analytic(space.target)
    if pricer.source is not PriceSource.MEASURED:
        return price_all(space, pricer, progress)
    known = price_as_it_came(space, pricer, progress)
    if options.search is not Search.ILP or options.free_io_layout:
        return price_all(space, pricer, progress)
    return price_lazily(space, setting, progress, known)


def select_plan(space: PlanSpace, priced: Priced, options: Options, limit: TimeLimit) -> GraphPlan:
    """The cheapest consistent plan. Raises SolverError where there is none."""
    refusals = [*space.refusals, *space.formless]
    refusals += [space.refused(key, reason) for key, reason in priced.refused.items()]
    notes = [space.refused(c, note) for c, note in priced.notes.items()]
    objective = space.objective(priced.costs, priced.conversion_costs, options)
    selection, solution = priced.answer or space.solved(*objective, options.search, limit)
    graph, clusters, identity = space.graph, space.clusters, space.identity
    if _stays(space, solution):
        choice, costs = space.as_it_came, priced.costs | space.identity_ns
    else:
        check_answer(selection.problem, solution, options, limit, [*refusals, *notes])
        choice = selection.choice(solution.candidates, solution.conversions)
        costs, solution = without_surcharges(priced, choice.candidates, solution)
    choice = replace(choice, lowered=frozenset(priced.transposed.intersection(choice.conversions)))
    io: dict[int, Layout] = {}
    if options.free_io_layout:
        io = chosen_io(graph, clusters, choice)
        choice = with_one_input_layout(graph, clusters, choice, io)
    return GraphPlan(
        space.egraph,
        clusters,
        choice,
        costs,
        priced.conversion_costs,
        solution,
        tuple(dict.fromkeys(refusals)),
        sum(costs[c] for c in identity) if costs.keys() >= set(identity) else None,
        io,
        options.lower_packs,
        searched(space, priced),
        priced.source,
        identity,
        priced.prices,
        tuple(dict.fromkeys(notes)),
        space,
        priced.piece_prices,
    )


def _stays(space: PlanSpace, solution: Solution) -> bool:
    """Whether the model stays as it came: nothing was found in time, and it can be written."""
    late = solution.status is Status.UNKNOWN and solution.stop_reason is StopReason.TIME_LIMIT
    return late and space.identity_ns.keys() >= {*space.identity}
