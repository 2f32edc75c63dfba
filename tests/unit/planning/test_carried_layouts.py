"""Layouts of what control flow hands on: one for all places, the cheapest, weighed by trips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.ir.carried import Carried
from layoutopt.ir.layout import Layout
from layoutopt.mlir.module import Module, parse_module
from layoutopt.options import Objective, Options, TripCount
from layoutopt.pipeline.block_flow import control_flow
from layoutopt.planning.control_flow import ControlFlow
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.joint_selection import Part, joined
from layoutopt.planning.joint_space import joint_space
from layoutopt.planning.planner import plan_graphs
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import Target, load_target
from layoutopt.report.solver import solver_report
from layoutopt.solver import Problem, Search, TimeLimit, solve, unmet
from layoutopt.solver.problem import Demand
from tests.e2e.test_control_flow import RNN
from tests.planning import setting

TARGET = load_target("x86-64-avx512")
IMAGE, FILTER = "tensor<1x16x16x16xf32>", "tensor<16x16x3x3xf32>"
CONVOLUTIONS = f"""
func.func @main(%x: {IMAGE}, %n: index) -> {IMAGE} {{
  %w = arith.constant dense_resource<w> : {FILTER}
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : {IMAGE}
  %f = linalg.fill ins(%zero : f32) outs(%e : {IMAGE}) -> {IMAGE}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> ({IMAGE}) {{
    %p = tensor.pad %h low[0, 0, 1, 1] high[0, 0, 1, 1] {{
    ^bb0(%a: index, %b: index, %c: index, %d: index):
      tensor.yield %zero : f32
    }} : {IMAGE} to tensor<1x16x18x18xf32>
    %y = linalg.conv_2d_nchw_fchw ins(%p, %w : tensor<1x16x18x18xf32>, {FILTER})
      outs(%f : {IMAGE}) -> {IMAGE}
    %z = linalg.map {{ math.tanh }} ins(%y : {IMAGE}) outs(%e : {IMAGE})
    scf.yield %z : {IMAGE}
  }}
  return %r : {IMAGE}
}}
"""


OPEN = CONVOLUTIONS.replace("<1x16x", "<?x16x").replace(
    f"%e = tensor.empty() : {IMAGE.replace('<1', '<?')}",
    "%images = tensor.dim %x, %c0 : tensor<?x16x16x16xf32>\n"
    "  %e = tensor.empty(%images) : tensor<?x16x16x16xf32>",
)
"""The same for any number of images."""


def loop(folder: Path, text: str = CONVOLUTIONS) -> Module:
    path = folder / "model.mlir"
    path.write_text(text)
    return parse_module(path)


def planned(
    module: Module,
    flow: ControlFlow,
    objective: Objective = Objective.LATENCY,
    target: Target = TARGET,
) -> dict[str, GraphPlan]:
    options = Options(objective=objective)
    found = plan_graphs(module.graphs, setting(target, Analytic(target), options), (), flow)
    return dict(zip(module.names, found, strict=True))


def layouts_of(plan: GraphPlan) -> dict[str, Layout]:
    return {end.name: end.layout for end in plan.ends.carried}


@pytest.mark.parametrize("text", [CONVOLUTIONS, OPEN], ids=["static", "open"])
def test_a_loop_converts_outside(tmp_path: Path, text: str) -> None:
    module = loop(tmp_path, text)
    plans = planned(module, control_flow(module, {}))
    inside, outside = plans["main/for.0"], plans["main"]
    (layout,) = layouts_of(inside).values()
    assert layouts_of(outside) == layouts_of(inside)
    assert not layout.is_row_major
    paid = [c for c in inside.choice.conversions if inside.conversion_costs[c]]
    assert paid == []
    assert len(outside.choice.conversions) == 2


def test_graphs_alone_are_planned_between_row_major_ends(tmp_path: Path) -> None:
    module = loop(tmp_path)
    alone = planned(module, ControlFlow.none(module.graphs))["main/for.0"]
    tied = planned(module, control_flow(module, {}))["main/for.0"]
    assert layouts_of(alone) == {}
    assert alone.cost_ns > tied.cost_ns


@pytest.mark.parametrize("runs", [1, 2, 100_000])
def test_fewest_conversions_are_those_that_run(tmp_path: Path, runs: int) -> None:
    """As many conversions outside as inside: with more than one trip they go outside."""
    path = tmp_path / "model.mlir"
    path.write_text(RNN)
    module = parse_module(path)
    flow = replace(control_flow(module, {}), runs=(1, runs))
    plans = planned(module, flow, Objective.CONVERSIONS, load_target("host"))
    layout = layouts_of(plans["main"])["main/for.0 0"]
    inside = plans["main/for.0"].choice.conversions
    assert len(inside) + len(plans["main"].choice.conversions) == 3
    if runs > 1:
        assert not layout.is_row_major
        assert not inside


def test_trips_weigh_what_is_inside(tmp_path: Path) -> None:
    module = loop(tmp_path)
    flow = control_flow(module, {})
    once = planned(module, replace(flow, runs=(1, 1)))
    often = planned(module, replace(flow, runs=(1, 50)))

    def total_ns(plans: Mapping[str, GraphPlan], runs: int) -> int:
        return plans["main"].cost_ns + runs * plans["main/for.0"].cost_ns

    assert total_ns(once, 1) <= total_ns(often, 1)
    assert total_ns(often, 50) <= total_ns(once, 50)
    told = solver_report(list(often.values()), Objective.LATENCY, (1, 50))
    assert told.objective_ns == pytest.approx(total_ns(often, 50), rel=1e-6)
    assert told.added_ns == 0
    trips = {t.name: t.count for t in (TripCount("main/for.0", 50),)}
    assert control_flow(module, trips).runs == (1, 50)


@pytest.mark.parametrize("text", [CONVOLUTIONS, OPEN], ids=["static", "open"])
def test_the_joint_answer_is_the_best_over_all_layouts(tmp_path: Path, text: str) -> None:
    """Against each graph solved alone, for every layout of what they hand on."""
    module = loop(tmp_path, text)
    flow = replace(control_flow(module, {}), runs=(1, 3))
    plans = planned(module, flow)
    spaces = [plan.space for plan in plans.values()]
    assert all(space is not None for space in spaces)
    (carried,) = flow.carried
    best = min(
        sum(
            runs * alone_ns(plan, carried, place, layout)
            for place, (plan, runs) in enumerate(zip(plans.values(), flow.runs, strict=True))
        )
        for layout in {
            x for c in plans["main/for.0"].conversion_costs for x in (c.source, c.target)
        }
        if layout.rank == 4
    )
    found = sum(p.cost_ns * n for p, n in zip(plans.values(), flow.runs, strict=True))
    assert found == best


def alone_ns(plan: GraphPlan, carried: Carried, place: int, layout: Layout) -> int:
    """The cheapest plan of one graph where what comes and goes lies in a layout."""
    space = plan.space
    assert space is not None
    selection = space.selection(plan.costs, plan.conversion_costs)
    problem = selection.problem

    def pair(tensor: int) -> tuple[int, int]:
        return tensor, selection.number.get(tensor, {}).get(layout, 99)

    taken = [t for g, t in carried.made if g == place]
    handed = [t for g, t in carried.read if g == place]
    given = {p for p in problem.given if p[0] not in taken} | {pair(t) for t in taken}
    demands = [d for d in problem.demanded if d.tensor not in space.graph.handed_only]
    demands += [Demand(t, (pair(t)[1],)) for t in handed]
    demands += [Demand(t, (0,)) for t in taken if t in space.graph.outputs]
    changed = replace(problem, given=frozenset(given), demanded=tuple(demands))
    return solved_ns(changed)


def solved_ns(problem: Problem) -> int:
    found = solve(problem).objective_ns
    return 10**15 if found is None else found


def test_parts_that_nothing_ties_are_one_problem_beside_another(tmp_path: Path) -> None:
    module = loop(tmp_path)
    plans = planned(module, ControlFlow.none(module.graphs))
    parts = []
    for plan in plans.values():
        assert plan.space is not None
        parts.append(plan.space.selection(plan.costs, plan.conversion_costs))
    both = joined(
        [Part(p.egraph.graph, s, 1) for p, s in zip(plans.values(), parts, strict=True)], {}
    )
    assert solved_ns(both.problem) == sum(solved_ns(s.problem) for s in parts)


def test_the_model_as_it_came_is_an_answer(tmp_path: Path) -> None:
    """The one that is left where the time is over."""
    module = loop(tmp_path)
    flow = control_flow(module, {})
    plans = planned(module, flow)
    spaces = [plan.space for plan in plans.values() if plan.space is not None]
    joint = joint_space(spaces, flow.runs, flow.carried, Options())
    costs = [(plan.costs, plan.conversion_costs) for plan in plans.values()]
    selection, _ = joint.solved(costs, Search.GREEDY, TimeLimit(60.0))
    found = selection.indices(joint.as_it_came)
    assert found is not None
    assert unmet(selection.problem, *found) == []
    assert selection.indices(replace(joint.as_it_came, layouts={})) != found


@pytest.mark.parametrize("search", list(Search))
def test_every_search_finds_a_consistent_plan(tmp_path: Path, search: Search) -> None:
    module = loop(tmp_path)
    options = Options(search=search)
    flow = control_flow(module, {})
    plans = plan_graphs(module.graphs, setting(TARGET, Analytic(TARGET), options), (), flow)
    layouts = {name: layout for plan in plans for name, layout in layouts_of(plan).items()}
    lowered = {place: plan.lowered() for place, plan in enumerate(plans)}
    module.replace_all(lowered, layouts)
    assert module.operation.verify()
