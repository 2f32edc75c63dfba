"""Plan one graph: enumerate, price, select."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from layoutopt.candidates.choice import Choice
from layoutopt.candidates.explore import RefusedForm
from layoutopt.ir.carried import Ends, ends_of
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.types import TensorType
from layoutopt.ir.weights import constant_names, weight_bytes
from layoutopt.options import Budget, Objective, Options, Resource
from layoutopt.planning.answer import check_answer, check_memory
from layoutopt.planning.as_it_came import price_as_it_came
from layoutopt.planning.control_flow import ControlFlow
from layoutopt.planning.copy_budget import HeldCopies
from layoutopt.planning.explored import Explored
from layoutopt.planning.free_io import (
    chosen_io,
    with_one_input_layout,
)
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.joint_selection import JointChoice
from layoutopt.planning.joint_space import JointSpace, joint_space
from layoutopt.planning.lazy_pricing import price_all, price_lazily
from layoutopt.planning.narrow_tiles import with_narrow_tiles
from layoutopt.planning.plan_space import PlanSpace, plan_space
from layoutopt.planning.priced import Priced, without_surcharges
from layoutopt.planning.searched import searched
from layoutopt.planning.setting import PlanSetting
from layoutopt.planning.size_grid import size_grid
from layoutopt.planning.specialized import specialized
from layoutopt.planning.trade_off import TradeOff, memory_trade_off, weights_trade_off
from layoutopt.pricing.prices import Analytic
from layoutopt.pricing.source import PriceSource
from layoutopt.runtime.progress import Progress
from layoutopt.solver import Search, Solution, Status, StopReason, TimeLimit

_MOST_RUNS = 1000
"""Runs of a block that count when layouts of carried tensors are chosen: more change nothing."""
_FOR_RANGES = 0.25
"""Of the time of the solver, what plans for ranges of sizes have."""
_MOST_COUNTED = 16
"""The same where conversions are counted, and not timed: the numbers stay within 53 bits."""
_LOOK_S = 5.0
"""For which it is tried whether any plan keeps a memory budget, before anything is priced."""


def plan_graphs(
    graphs: Sequence[Graph],
    setting: PlanSetting,
    refused: Sequence[Collection[str]] = (),
    flow: ControlFlow | None = None,
    one_body: Sequence[str] = (),
) -> tuple[GraphPlan, ...]:
    """Plans of a module's functions and blocks; each leaves the next ones what it did not spend.

    ``refused``: for each graph, digests of candidates that do not compile inside the model.
    ``flow``: what graphs hand to each other; those that do are planned as one. ``one_body``: for
    each graph, why there is one plan for all of its sizes; empty where there may be several.
    """
    flow = flow or ControlFlow.none(graphs)
    plans: dict[int, GraphPlan] = {}
    left = setting.options.weight_budget
    if left is not None:
        left = Budget(left.size_bytes(weight_bytes(graphs)))
    copies: frozenset[Hashable] = frozenset()
    for together in flow.groups:
        rest = replace(setting.options, weight_budget=left)
        names = [constant_names(graphs[g], g) for g in together]
        asked = [
            Asked(
                graphs[g],
                refused[g] if refused else (),
                HeldCopies(own, copies),
                one_body[g] if one_body else "",
            )
            for g, own in zip(together, names, strict=True)
        ]
        found = plan_together(asked, replace(setting, options=rest), flow.among(together))
        plans |= zip(together, found, strict=True)
        if left is None:
            continue
        bodies = ((body, own) for p, own in zip(found, names, strict=True) for body in p.bodies)
        for plan, own in bodies:
            made = plan.lowered().copied_weights(own)
            spent = sum(kind.size_bytes for copy, kind in made.items() if copy not in copies)
            left = Budget(left.amount - spent)
            copies |= made.keys()
    return tuple(plans[g] for g in range(len(graphs)))


def plan_graph(
    graph: Graph, setting: PlanSetting, refused: Collection[str] = ()
) -> GraphPlan:  # fmt: skip
    """The cheapest consistent plan of one function. Raises SolverError where there is none.

    ``refused``: digests of candidates that do not compile inside the model.
    """
    (plan,) = plan_together([Asked(graph, refused)], setting, ControlFlow.none([graph]))
    return plan


@dataclass(frozen=True)
class Asked:
    """A graph to plan."""

    graph: Graph
    refused: Collection[str] = ()
    """Digests of candidates that do not compile inside the model."""
    held: HeldCopies | None = None
    """Copies of weights that take nothing of the budget."""
    one_body: str = ""
    """Why there is one plan for all sizes; empty where there may be several."""


def plan_together(
    asked: Sequence[Asked], setting: PlanSetting, flow: ControlFlow
) -> tuple[GraphPlan, ...]:
    """The cheapest consistent plans of graphs that hand tensors to each other.

    Raises SolverError where there are none.
    """
    options = setting.options
    counts = options.objective is Objective.CONVERSIONS
    estimated = setting.pricer.source is not PriceSource.MEASURED or counts
    explored = setting.explored
    with setting.clock.stage("enumerate"):
        spaces: list[PlanSpace] = []
        group = 0
        for each in asked:
            space = plan_space(each.graph, explored, estimated, each.refused, first_group=group)
            if space.budget is not None and each.held is not None:
                space = replace(space, budget=replace(space.budget, held=each.held))
            spaces.append(space)
            group += len(space.graph.types) + len(space.conversions) + len(space.unmoved)
        spaces = _in_memory_budget(spaces, options)
        most = _MOST_COUNTED if counts else _MOST_RUNS
        runs = [min(max(1, n), most) for n in flow.runs]
        joint = joint_space(spaces, runs, flow.carried, options)
        _check_memory_budget(joint, options)
    several = options.specializations > 1 and any(
        size_grid(part.graph, options.sizes).axes for part in joint.parts
    )
    with setting.limit.keeping(_FOR_RANGES if several else 0.0):
        plans = _priced_plans(joint, setting)
    plans_of = partial(_priced_plans, setting=setting)
    first, *rest = (
        specialized(plan, space, setting, each.one_body or flow.one_body(place), plans_of)
        for place, (plan, space, each) in enumerate(zip(plans, joint.parts, asked, strict=True))
    )
    found: list[TradeOff] = []
    if Resource.MEMORY in options.trade_offs:
        found += memory_trade_off(joint, plans, setting, _priced_plans)
    if Resource.WEIGHTS in options.trade_offs:
        found += _weights_trade_off(plans, asked, setting, flow)
    return replace(first, trade_offs=tuple(found)), *rest


def _weights_trade_off(
    plans: tuple[GraphPlan, ...], asked: Sequence[Asked], setting: PlanSetting, flow: ControlFlow
) -> Iterator[TradeOff]:
    graphs = [each.graph for each in asked]
    names = [constant_names(graph, place) for place, graph in enumerate(graphs)]
    whole_bytes, options = weight_bytes(graphs), setting.options
    own = replace(options, weight_budget=Budget(whole_bytes), trade_offs=frozenset())
    explored = Explored(setting.target, own)

    def copied_bytes(found: tuple[GraphPlan, ...]) -> int:
        made: dict[Hashable, TensorType] = {}
        for plan, called in zip(found, names, strict=True):
            for body in plan.bodies:
                made |= body.lowered().copied_weights(called)
        return sum(kind.size_bytes for kind in made.values())

    def planned(budget: int) -> tuple[GraphPlan, ...]:
        bounded = replace(own, weight_budget=Budget(budget))
        limit = TimeLimit(options.time_limit_s)
        return plan_together(
            asked, replace(setting, options=bounded, limit=limit, before=explored), flow
        )

    return weights_trade_off(plans, whole_bytes, copied_bytes, planned)


def _in_memory_budget(spaces: list[PlanSpace], options: Options) -> list[PlanSpace]:
    """The same with what tensors may take: a share is of what takes the most as it came."""
    if options.memory_budget is None:
        return spaces
    most = max(space.peak_bytes(space.as_it_came) for space in spaces)
    return [replace(s, memory_bytes=options.memory_budget.size_bytes(most)) for s in spaces]


def _check_memory_budget(space: JointSpace, options: Options) -> None:
    """Raises InputError for a budget that no plan keeps, before anything is priced."""
    if any(
        part.memory_bytes is not None and part.peak_bytes(part.as_it_came) > part.memory_bytes
        for part in space.parts
    ):
        conversions = ((*part.conversions, *part.unmoved) for part in space.parts)
        free = [
            (dict.fromkeys(part.candidates, 0), dict.fromkeys(between, 0))
            for part, between in zip(space.parts, conversions, strict=True)
        ]
        check_memory(space.selection(free).problem, min(_LOOK_S, options.time_limit_s))


def _priced_plans(space: JointSpace, setting: PlanSetting) -> tuple[GraphPlan, ...]:
    with setting.clock.stage("price") as progress:
        priced = price_space(space, setting, progress)
    with setting.clock.stage("select"):
        return select_plans(space, priced, setting.options, setting.limit)


def price_space(
    space: JointSpace, setting: PlanSetting, progress: Progress
) -> tuple[Priced, ...]:  # fmt: skip
    """Prices of what plans may use. Where they are measured, of no more than that."""
    options, pricer = setting.options, setting.pricer
    if options.objective is Objective.CONVERSIONS:
        pricer = Analytic(space.parts[0].target)
    if pricer.source not in (PriceSource.MEASURED, PriceSource.COMPILED):
        return price_all(space, pricer, progress)
    if options.search is not Search.ILP or options.free_io_layout:
        for part in space.parts:
            price_as_it_came(part, pricer, progress)
        return price_all(space, pricer, progress)
    return price_lazily(space, setting, progress)


def select_plans(
    space: JointSpace, priced: Sequence[Priced], options: Options, limit: TimeLimit
) -> tuple[GraphPlan, ...]:
    """The cheapest consistent plans. Raises SolverError where there are none."""
    costs = [(own.costs, own.conversion_costs) for own in priced]
    objective = space.objective(costs, options)
    known: tuple[JointChoice, ...] = ()
    if options.objective is Objective.CONVERSIONS:
        known = with_narrow_tiles(space, objective, options, limit)
    selection, solution = priced[0].answer or space.solved(objective, options.search, limit, known)
    stays = _stays(space, solution)
    if stays:
        choice = space.as_it_came
    else:
        refusals = [r for part, own in zip(space.parts, priced, strict=True)
                    for r in (*_refusals(part, own), *_notes(part, own))]  # fmt: skip
        check_answer(selection.problem, solution, options, limit, refusals)
        choice = selection.choice(solution)
    return tuple(
        _graph_plan(part, own, options, _Part(chosen, ends, found, stays))
        for part, own, chosen, ends, found in zip(
            space.parts,
            priced,
            choice.parts,
            (
                ends_of(place, choice.layouts, part.graph.handed_only)
                for place, part in enumerate(space.parts)
            ),
            (selection.part_solution(solution, place) for place in range(len(space.parts))),
            strict=True,
        )
    )


@dataclass(frozen=True)
class _Part:
    """What was selected for one graph."""

    choice: Choice
    ends: Ends
    solution: Solution
    stays: bool
    """Whether it stays as it came."""


def _graph_plan(space: PlanSpace, priced: Priced, options: Options, part: _Part) -> GraphPlan:
    graph, clusters, identity = space.graph, space.clusters, space.identity
    choice, solution = part.choice, part.solution
    costs = priced.costs | space.identity_ns
    if not part.stays:
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
        tuple(dict.fromkeys(_refusals(space, priced))),
        sum(costs[c] for c in identity) if costs.keys() >= set(identity) else None,
        io,
        options.lower_packs,
        searched(space, priced),
        priced.source,
        identity,
        priced.prices,
        tuple(dict.fromkeys(_notes(space, priced))),
        space,
        priced.piece_prices,
        part.ends,
    )


def _refusals(space: PlanSpace, priced: Priced) -> list[RefusedForm]:
    found = (space.refused(key, reason) for key, reason in priced.refused.items())
    return [*space.refusals, *space.formless, *found]


def _notes(space: PlanSpace, priced: Priced) -> list[RefusedForm]:
    return [space.refused(c, note) for c, note in priced.notes.items()]


def _stays(space: JointSpace, solution: Solution) -> bool:
    """Whether the model stays as it came: nothing was found in time, and it can be written."""
    late = solution.status is Status.UNKNOWN and solution.stop_reason is StopReason.TIME_LIMIT
    return late and all(
        part.memory_bytes is None and part.identity_ns.keys() >= {*part.identity}
        for part in space.parts
    )
