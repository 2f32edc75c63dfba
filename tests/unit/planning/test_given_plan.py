"""Plans from files: right wherever they fit, and one line where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.candidates.form import Form
from layoutopt.errors import InputError
from layoutopt.ir.graph import Graph, Structured, each_op
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.planned_sizes import planned_for
from layoutopt.ir.renaming import counted_from_zero
from layoutopt.ir.size_range import Ranges, SizeRange
from layoutopt.mlir.module import parse_module
from layoutopt.options import Objective, Options, PlannedSize
from layoutopt.pipeline.block_flow import control_flow
from layoutopt.planning.given_plan import AskedPlans, given_plans
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.plan_file import (
    TOOL,
    CarriedLayout,
    FunctionPlan,
    PlanFile,
    PlannedCandidate,
    PlannedConversion,
    function_plan,
    function_plans,
    write_plan,
)
from layoutopt.planning.planner import plan_graph, plan_graphs
from layoutopt.pricing.at_sizes import AtSizes
from layoutopt.pricing.prices import Analytic, Work
from layoutopt.profiles.target import load_target
from layoutopt.rules.rewrites import REWRITES
from layoutopt.solver import Search
from tests.made_up_prices import MadeUpPrices, structured
from tests.models import CONVOLUTIONS
from tests.parsing import lifted
from tests.planning import AS_WRITTEN, TWO_MATMULS, SizedPrices, packed_for_many, setting
from tests.unit.candidates.test_byte_panels import model
from tests.unit.candidates.test_unsigned import byte_target, matmul
from tests.unit.planning.test_carried_layouts import loop

GRAPH = lifted(CONVOLUTIONS)
MODEL = Path("model.mlir")
TARGETS = ("x86-64-avx512", "mi355x", "host")
ADVICE = "make the plan again for this target, with the same options"


def planned(target: str, options: Options) -> GraphPlan:
    found = load_target(target)
    return plan_graph(GRAPH, setting(found, Analytic(found), options))


def saved(path: Path, plan: FunctionPlan) -> None:
    write_plan(path, PlanFile("mi300x", Objective.LATENCY, (plan,)))


def filed(plan: GraphPlan, graph: Graph = GRAPH) -> FunctionPlan:
    return function_plan("main", graph, plan)


def replayed(path: Path, target: str, options: Options) -> GraphPlan:
    asked = AskedPlans(MODEL, [("main", GRAPH)])
    (found,) = given_plans(path, asked, load_target(target), options)
    return found


@pytest.mark.parametrize(
    ("target", "search", "free"),
    [
        ("x86-64-avx512", Search.ILP, False),
        ("mi355x", Search.GREEDY, True),
        ("host", Search.TASO, False),
        ("host", Search.ILP, True),
    ],
)
def test_a_plan_lowers_on_other_targets_as_it_did(
    target: str, search: Search, free: bool, tmp_path: Path
) -> None:
    options = Options(search=search, free_io_layout=free)
    plan = planned(target, options)
    path = tmp_path / "plan.json"
    saved(path, filed(plan))
    for other in TARGETS:
        if plan.data_tiled and not load_target(other).data_tiling_flags:
            with pytest.raises(InputError, match=f"which {other} has no flag for"):
                replayed(path, other, options)
            continue
        scheduled = any(c.form.is_scheduled for c in plan.choice.candidates)
        if scheduled and load_target(other).registers is None:
            with pytest.raises(InputError, match=f"which {other} takes none of"):
                replayed(path, other, options)
            continue
        found = replayed(path, other, options)
        assert found.io == plan.io
        assert found.lowered() == plan.lowered()


def test_row_major_plans_serve_where_layouts_are_free(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = planned("host", Options())
    saved(path, filed(plan))
    found = replayed(path, "host", Options(free_io_layout=True))
    assert found.lowered() == plan.lowered()


def broken(kind: str, plan: FunctionPlan) -> tuple[FunctionPlan, str]:
    """A plan that does not fit, and what is said of it."""
    first, *rest = plan.candidates
    placed, *others = first.tensors

    def with_first(candidate: PlannedCandidate) -> FunctionPlan:
        return replace(plan, candidates=(candidate, *rest))

    if kind == "cluster":
        got = f"'{first.made_by}' of {first.op}, which no rule makes"
        return with_first(replace(first, cluster="none")), got
    if kind == "tensor":
        got = f"tensor {placed.label} of {first.op}, which no op makes"
        return with_first(replace(first, tensors=(replace(placed, name="none"), *others))), got
    if kind == "tensors":
        return with_first(replace(first, tensors=tuple(others))), f"other tensors around {first.op}"
    if kind == "rank":
        wide = replace(placed, layout=row_major(9))
        got = f"other tensors around {first.op}"
        return with_first(replace(first, tensors=(wide, *others))), got
    if kind == "conversion":
        turned = PlannedConversion(placed.name, "t0", row_major(2), Layout((1, 0)), 1, False)
        return replace(plan, conversions=(turned,)), "no conversion of t"
    if kind == "twice":
        return replace(plan, candidates=(first, *plan.candidates)), "a choice twice"
    return replace(plan, candidates=tuple(rest)), ""


@pytest.mark.parametrize(
    "kind", ["cluster", "tensor", "tensors", "rank", "conversion", "twice", "missing"]
)
def test_plans_that_do_not_fit_are_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan, got = broken(kind, filed(planned("host", Options())))
    saved(path, plan)
    with pytest.raises(InputError) as caught:
        replayed(path, "host", Options())
    head = f"{path}: expected a plan for 'main' that fits host and these options, but got "
    text = str(caught.value)
    assert text.startswith(head + got)
    assert text.endswith(f" (made by layoutopt {TOOL} for mi300x); {ADVICE}")


def test_a_plan_is_used_again_after_a_rule_was_added(tmp_path: Path) -> None:
    """The alternatives of new rules shift the numbers of tensors and clusters, not their names."""
    path = tmp_path / "plan.json"
    unused = "convolution-to-winograd-f2"
    fewer = Options(rules=tuple(rule for rule in REWRITES if rule.name != unused))
    plan = planned("host", fewer)
    saved(path, filed(plan))
    found = replayed(path, "host", Options())
    numbers = {c.cluster for c in plan.choice.candidates}
    assert len(found.egraph.graph.ops) > len(plan.egraph.graph.ops)
    assert {c.cluster for c in found.choice.candidates} != numbers
    assert list(map(found.form_name, found.choice.candidates)) == list(
        map(plan.form_name, plan.choice.candidates)
    )
    assert (
        counted_from_zero(found.lowered().graph.ops)[0]
        == counted_from_zero(plan.lowered().graph.ops)[0]
    )


def test_a_plan_whose_rule_is_gone_says_so(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = filed(planned("host", Options()))
    made = [c for c in plan.candidates if "-" in c.made_by]
    assert made
    saved(path, plan)
    with pytest.raises(InputError) as caught:
        replayed(path, "host", Options(rules=()))
    assert "which no rule makes" in str(caught.value)


def test_free_layouts_are_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    options = Options(free_io_layout=True)
    plan = planned("x86-64-avx512", options)
    x = GRAPH.inputs[0]
    assert not plan.io[x].is_row_major
    saved(path, filed(plan))
    assert replayed(path, "x86-64-avx512", options).io == plan.io
    with pytest.raises(InputError) as caught:
        replayed(path, "x86-64-avx512", Options())
    assert str(caught.value).endswith("; " + ADVICE)


def test_a_plan_for_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    other = replace(GRAPH, outputs=())
    saved(path, filed(planned("host", Options()), other))
    with pytest.raises(InputError) as caught:
        replayed(path, "host", Options())
    assert str(caught.value) == (
        f"{path}: expected a plan for function 'main' of model.mlir, but got "
        "a plan for another model (made by layoutopt 0.1.0 for mi300x); make the plan again"
    )


@pytest.mark.parametrize(
    ("row", "got"),
    [
        (
            CarriedLayout("main/for.7 0", row_major(4)),
            "a layout of 'main/for.7 0', which no control flow hands on",
        ),
        (CarriedLayout("main/for.0 0", row_major(2)), "row-major for 'main/for.0 0' of 4 dims"),
        (
            CarriedLayout("main/for.0 0", Layout((0, 3, 2, 1))),
            "conversion 1: nothing makes tensor 4 in layout 1",
        ),
    ],
)
def test_layouts_of_carried_tensors_that_do_not_fit(
    row: CarriedLayout, got: str, tmp_path: Path
) -> None:
    module = loop(tmp_path)
    flow = control_flow(module, {})
    target = load_target("x86-64-avx512")
    plans = plan_graphs(module.graphs, setting(target, Analytic(target), Options()), (), flow)
    functions = tuple(map(function_plan, module.names, module.graphs, plans))
    (end,) = plans[0].ends.carried
    asked = AskedPlans(MODEL, list(zip(module.names, module.graphs, strict=True)), flow)
    path = tmp_path / "plan.json"
    kept = (CarriedLayout(end.name, end.layout),)
    write_plan(path, PlanFile("here", Objective.LATENCY, functions, carried=kept))
    again = given_plans(path, asked, target, Options())
    assert [p.lowered() for p in again] == [p.lowered() for p in plans]
    write_plan(path, PlanFile("here", Objective.LATENCY, functions, carried=(row,)))
    with pytest.raises(InputError) as error:
        given_plans(path, asked, target, Options())
    assert str(error.value) == (
        f"{path}: expected a plan for 'main' that fits x86-64-avx512 and these options, but got "
        f"{got} (made by layoutopt {TOOL} for here); {ADVICE}"
    )


@pytest.fixture
def several(tmp_path: Path) -> tuple[Graph, GraphPlan, Options]:
    """A function with a plan for few rows and one for many."""
    (tmp_path / "model.mlir").write_text(TWO_MATMULS)
    sizes = (PlannedSize("arg0.0", (1, 300), (3.0, 1.0)),)
    options = Options(sizes=sizes, rules=AS_WRITTEN)
    graph = planned_for(parse_module(tmp_path / "model.mlir").graphs[0], {"arg0.0": 1})
    wanted = setting(load_target("host"), AtSizes(SizedPrices(packed_for_many)), options)
    return graph, plan_graph(graph, wanted), options


def ranged(path: Path, rows: Sequence[FunctionPlan]) -> None:
    write_plan(path, PlanFile("here", Objective.LATENCY, tuple(rows)))


def test_plans_for_ranges_of_sizes_come_back(
    several: tuple[Graph, GraphPlan, Options], tmp_path: Path
) -> None:
    graph, plan, options = several
    path = tmp_path / "plan.json"
    rows = function_plans("main", graph, plan)
    assert [row.name for row in rows] == ["main at arg0.0 <= 17", "main at arg0.0 > 17"]
    ranged(path, rows)
    asked = AskedPlans(MODEL, [("main", graph)])
    (again,) = given_plans(path, asked, load_target("host"), options)
    assert [(s.ranges, s.share) for s in again.specializations] == [
        (s.ranges, s.share) for s in plan.specializations
    ]
    assert [b.lowered() for b in again.bodies] == [b.lowered() for b in plan.bodies]
    assert again.cost_ns == plan.cost_ns == again.solution.objective_ns
    assert function_plans("main", graph, again) == rows


@pytest.mark.parametrize(
    ("ranges", "reason", "got"),
    [
        (
            ((SizeRange("b", None, 17),), (SizeRange("b", 17, None),)),
            "",
            "plans for ranges of b, which is no open size",
        ),
        (
            ((SizeRange("arg0.0", None, 17),), (SizeRange("arg0.0", 18, None),)),
            "",
            "plans for ranges of sizes of which some have none or two",
        ),
        (((), ()), "", "plans for ranges of sizes of which some have none or two"),
        (
            ((SizeRange("arg0.0", None, 17),), (SizeRange("arg0.0", 17, None),)),
            "it is torn",
            "plans for ranges of sizes, though it is torn",
        ),
    ],
)
def test_ranges_of_sizes_that_do_not_fit(
    several: tuple[Graph, GraphPlan, Options],
    ranges: tuple[Ranges, ...],
    reason: str,
    got: str,
    tmp_path: Path,
) -> None:
    graph, plan, options = several
    path = tmp_path / "plan.json"
    rows = function_plans("main", graph, plan)
    ranged(path, [replace(row, ranges=own) for row, own in zip(rows, ranges, strict=True)])
    asked = AskedPlans(MODEL, [("main", graph)], one_body=[reason])
    with pytest.raises(InputError) as error:
        given_plans(path, asked, load_target("host"), options)
    assert str(error.value) == (
        f"{path}: expected a plan for 'main' that fits host and these options, but got {got} "
        f"(made by layoutopt {TOOL} for here); {ADVICE}"
    )


def test_plans_for_ranges_of_sizes_take_row_major_ends(
    several: tuple[Graph, GraphPlan, Options], tmp_path: Path
) -> None:
    graph, plan, options = several
    path = tmp_path / "plan.json"
    ranged(path, function_plans("main", graph, plan))
    asked = AskedPlans(MODEL, [("main", graph)])
    with pytest.raises(InputError, match="ranges of sizes, with --free-io-layout"):
        given_plans(path, asked, load_target("host"), replace(options, free_io_layout=True))


def test_data_tiling_of_bytes_is_for_processors_that_have_it(tmp_path: Path) -> None:
    graph = matmul("i8", "i8", "i32", rows=8, columns=16)
    tiled = MadeUpPrices(
        lambda work: 10 if any(op.data_tiled for op in structured(work)) else 10**6
    )
    plan = plan_graph(graph, setting(byte_target(), tiled, Options()))
    assert plan.tiles_bytes
    path = tmp_path / "plan.json"
    saved(path, filed(plan, graph))
    asked = AskedPlans(MODEL, [("main", graph)])
    able = replace(load_target("x86-64-avx512"), byte_products=True)
    (again,) = given_plans(path, asked, able, Options())
    assert again.choice == plan.choice
    with pytest.raises(InputError, match=r"products of unsigned bytes in .*, which x86-64-avx512 "):
        given_plans(path, asked, load_target("x86-64-avx512"), Options())


def test_panels_of_bytes_are_for_processors_that_have_it(tmp_path: Path) -> None:
    graph = model(28, 64, 64)
    able = replace(load_target("x86-64-avx512"), byte_products=True)
    inside = MadeUpPrices(lambda work: 10 if _runs_by_instruction(work) else 10**6)
    plan = plan_graph(graph, setting(able, inside, Options()))
    assert Form.BYTE_PANELS in {candidate.form for candidate in plan.choice.candidates}
    path = tmp_path / "plan.json"
    saved(path, filed(plan, graph))
    asked = AskedPlans(MODEL, [("main", graph)])
    (again,) = given_plans(path, asked, able, Options())
    assert again.choice == plan.choice
    with pytest.raises(InputError, match=r"products of unsigned bytes in .*, which x86-64-avx512 "):
        given_plans(path, asked, load_target("x86-64-avx512"), Options())


def _runs_by_instruction(work: Work) -> bool:
    ops = each_op(work.form.graph.ops)
    return any(isinstance(op, Structured) and op.schedule and op.schedule.inside for op in ops)


def test_a_module_has_one_kind_of_data_tiling(tmp_path: Path) -> None:
    graph = matmul("i8", "i8", "i32", rows=8, columns=16)
    tiled = MadeUpPrices(
        lambda work: 10 if any(op.data_tiled for op in structured(work)) else 10**6
    )
    able = replace(load_target("x86-64-avx512"), byte_products=True)
    plans = [plan_graph(graph, setting(t, tiled, Options())) for t in able.tilings({"i8"})]
    assert [plan.tiles_bytes for plan in plans] == [False, True]
    path = tmp_path / "plan.json"
    functions = [function_plan(f"f{i}", graph, plan) for i, plan in enumerate(plans)]
    write_plan(path, PlanFile("mi300x", Objective.LATENCY, tuple(functions)))
    asked = AskedPlans(MODEL, [("f0", graph), ("f1", graph)])
    with pytest.raises(InputError, match="'data-tiled' and 'data-tiled, unsigned', of which a mod"):
        given_plans(path, asked, able, Options())
