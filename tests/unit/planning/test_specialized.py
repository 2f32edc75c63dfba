"""Several plans for one function: where they pay, what they share, and why there is one."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.ir.graph import Graph
from layoutopt.ir.planned_sizes import open_sizes, planned_for
from layoutopt.ir.weights import constant_names
from layoutopt.mlir.module import Module, parse_module
from layoutopt.options import Budget, Effort, Objective, Options, PlannedSize
from layoutopt.pipeline.block_flow import one_body
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.planner import plan_graphs
from layoutopt.pricing.at_sizes import AtSizes
from layoutopt.pricing.prices import Work
from layoutopt.solver import Solution, Status, TimeLimit
from tests.planning import AS_WRITTEN, HOST, TWO_MATMULS, SizedPrices, packed_for_many, setting

SIZES = (1, 16, 300)
FIRST, SECOND = (8, 64, 8), (4, 64, 8)
"""The weights of two contractions in tiles."""
OTHER_WEIGHTS = f"""
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x32xf32> {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<"0x{"3C" * 4 * 64 * 63}{"00" * 4 * 64}"> : tensor<64x64xf32>
  %v = arith.constant dense<"0x{"3C" * 4 * 64 * 31}{"00" * 4 * 64}"> : tensor<64x32xf32>
  %s = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%s) : tensor<?x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %a = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x64xf32>)
      outs(%f : tensor<?x64xf32>) -> tensor<?x64xf32>
  %d = tensor.empty(%s) : tensor<?x32xf32>
  %g = linalg.fill ins(%zero : f32) outs(%d : tensor<?x32xf32>) -> tensor<?x32xf32>
  %b = linalg.matmul ins(%a, %v : tensor<?x64xf32>, tensor<64x32xf32>)
      outs(%g : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %b : tensor<?x32xf32>
}}
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return read(tmp_path_factory.mktemp("specialized"), TWO_MATMULS).graphs[0]


def read(folder: Path, text: str) -> Module:
    (folder / "model.mlir").write_text(text)
    return parse_module(folder / "model.mlir")


def options(*numbers: int, weights: tuple[float, ...] = ()) -> Options:
    sizes = (PlannedSize("arg0.0", numbers, weights),)
    return Options(sizes=sizes, effort=Effort.THOROUGH, rules=AS_WRITTEN)


def plan(
    graph: Graph, wanted: Options, reason: str = "", prices: SizedPrices | None = None
) -> GraphPlan:
    pricer = AtSizes(prices or SizedPrices(packed_for_many))
    at = planned_for(graph, {size.name: size.sizes[0] for size in wanted.sizes})
    (found,) = plan_graphs([at], setting(HOST, pricer, wanted), one_body=[reason])
    return found


def why_one(found: GraphPlan) -> str:
    assert not found.specializations
    (reason,) = (r.reason for r in found.refusals if r.rule == "specialization")
    return reason


def test_sizes_that_like_other_plans_get_them(graph: Graph) -> None:
    found = plan(graph, options(*SIZES, weights=(2.0, 1.0, 1.0)))
    small, large = found.specializations
    assert [str(r) for part in (small, large) for r in part.ranges] == [
        "arg0.0 <= 69",
        "arg0.0 > 69",
    ]
    assert (small.share, large.share) == (0.75, 0.25)
    assert not any(len(k.shape) == 4 for k in small.plan.lowered().graph.types)
    assert any(len(k.shape) == 4 for k in large.plan.lowered().graph.types)
    assert found.bodies == (small.plan, large.plan)
    assert found.cost_ns < found.one_body_ns
    assert found.solution.objective_ns == found.cost_ns == found.solution.bound_ns
    assert found.solution.status is Status.OPTIMAL


def test_a_plan_for_a_range_is_the_one_for_these_sizes_alone(graph: Graph) -> None:
    """As if the model were planned at no other sizes; the best of all ranges is chosen."""
    found = plan(graph, options(*SIZES))
    alone = {
        ends: plan(graph, replace(options(*SIZES[ends[0] : ends[1]]), specializations=1))
        for ends in itertools.combinations(range(len(SIZES) + 1), 2)
    }
    own = [part.plan.cost_ns for part in found.specializations]
    assert own == [alone[0, 2].cost_ns, alone[2, 3].cost_ns]
    shares = {
        (first, last): sum(
            (each.cost_at_ns(place - first) or 0) / (alone[0, 3].cost_at_ns(place) or 0)
            for place in range(first, last)
        )
        for (first, last), each in alone.items()
    }
    cuts = [c for n in range(3) for c in itertools.combinations(range(1, len(SIZES)), n)]
    ways = [list(itertools.pairwise((0, *cut, len(SIZES)))) for cut in cuts]
    totals = [sum(shares[each] + 0.1 for each in way) for way in ways]
    assert min(totals) == pytest.approx(shares[0, 2] + shares[2, 3] + 0.2)


def test_small_sizes_count_as_much_as_large_ones(graph: Graph) -> None:
    """At size 1 the other plan saves a third of the time, and next to nothing of the sum."""

    def prices(piece: Work, size: int) -> int:
        if not piece.form.weights:
            return 10 * size**2
        tiled = any(len(kind.shape) == 4 for kind in piece.form.graph.types)
        better = tiled == (size > 40)
        return (2_000 if better else 3_000) * size**2

    found = plan(graph, options(1, 300), prices=SizedPrices(prices))
    small, _ = found.specializations
    assert [str(r) for r in small.ranges] == ["arg0.0 <= 17"]
    one_ns = found.cost_at_ns(0)
    assert one_ns is not None
    assert small.plan.cost_ns < 0.7 * one_ns
    assert found.one_body_ns - found.cost_ns < 0.0001 * found.one_body_ns


def test_costs_at_each_size_make_up_the_mean(graph: Graph) -> None:
    found = plan(graph, options(*SIZES))
    assert found.one_body_ns * 3 == pytest.approx(
        sum(found.cost_at_ns(place) or 0 for place in range(3)), abs=3
    )
    small, large = (part.plan for part in found.specializations)
    assert small.cost_at_ns(0) != small.cost_at_ns(1)
    assert large.cost_at_ns(0) == large.cost_ns


def test_the_same_piece_is_priced_once(graph: Graph) -> None:
    prices = SizedPrices(packed_for_many)
    one = replace(options(*SIZES), specializations=1)
    plan(graph, one, prices=prices)
    asked_for_one = prices.asked
    assert plan(graph, options(*SIZES), prices=SizedPrices(packed_for_many)).specializations
    several = SizedPrices(packed_for_many)
    plan(graph, options(*SIZES), prices=several)
    assert asked_for_one <= several.asked <= 2 * asked_for_one


def test_what_saves_little_is_one_plan(graph: Graph) -> None:
    """The other plan saves 5 % of the time at one of the sizes."""

    def close(piece: Work, size: int) -> int:
        if not piece.form.weights:
            return 10
        tiled = any(len(kind.shape) == 4 for kind in piece.form.graph.types)
        return 200_000 if tiled else 190_000 if size < 40 else 900_000

    reason = why_one(plan(graph, options(1, 300), prices=SizedPrices(close)))
    assert reason.startswith("a plan for each size saves 2.5% of the times of one for all")
    assert reason.endswith("each further body has to save 10% of the time at a size")


@pytest.mark.parametrize(
    ("changed", "reason", "told"),
    [
        ({}, "it is torn", "it is torn"),
        (
            {"objective": Objective.CONVERSIONS},
            "",
            "with --objective=conversions, what is counted is the same at all sizes",
        ),
        (
            {"free_io_layout": True},
            "",
            "with --free-io-layout, inputs and outputs lie in one layout at all sizes",
        ),
    ],
)
def test_what_speaks_against_several_is_told(
    graph: Graph, changed: dict[str, object], reason: str, told: str
) -> None:
    wanted = replace(options(*SIZES), **changed)  # type: ignore[arg-type]
    assert why_one(plan(graph, wanted, reason)) == told


def test_where_the_time_is_over_there_is_one_plan(graph: Graph) -> None:
    reason = why_one(plan(graph, replace(options(*SIZES), time_limit_s=0.0)))
    assert reason == (
        "plans for ranges of sizes: expected time to solve them, but got none left; give the "
        "solver more time with --time-limit"
    )


@pytest.mark.parametrize("wanted", [replace(options(*SIZES), specializations=1), options(300)])
def test_nothing_is_told_where_one_plan_was_asked_for(graph: Graph, wanted: Options) -> None:
    found = plan(graph, wanted, "it is torn")
    assert not found.specializations
    assert not [r for r in found.refusals if r.rule == "specialization"]


def copied(found: GraphPlan, graph: Graph) -> int:
    names = constant_names(graph, 0)
    made = {k: v for body in found.bodies for k, v in body.lowered().copied_weights(names).items()}
    return sum(kind.size_bytes for kind in made.values())


@pytest.mark.parametrize("budget", [100, 50, 0])
def test_copies_of_all_bodies_are_within_the_budget(graph: Graph, budget: int) -> None:
    wanted = replace(options(*SIZES), weight_budget=Budget(budget, percent=True))
    found = plan(graph, wanted)
    assert copied(found, graph) <= budget * 64 * 64 * 4 // 100
    assert bool(found.specializations) == (budget == 100)


def test_a_budget_is_shared_by_the_bodies(tmp_path: Path) -> None:
    """Each size likes tiles for one weight: with room for one copy, one body goes without."""
    graph = read(tmp_path, OTHER_WEIGHTS).graphs[0]

    def own_tiles(piece: Work, size: int) -> int:
        shapes = {k.shape for k in piece.form.graph.types}
        if not piece.form.weights:
            return 1000
        liked, other = {1: (FIRST, SECOND), 300: (SECOND, FIRST)}[size]
        return 10_000 if liked in shapes else 500_000 if other in shapes else 100_000

    def made(budget: Budget | None) -> GraphPlan:
        wanted = replace(options(1, 300), weight_budget=budget)
        return plan(graph, wanted, prices=SizedPrices(own_tiles))

    free = made(None)
    assert len(free.specializations) == 2
    both, one = made(Budget(100, percent=True)), made(Budget(64 * 64 * 4))
    assert both.cost_ns == free.cost_ns
    assert copied(both, graph) == (64 + 32) * 64 * 4
    assert copied(one, graph) in (64 * 64 * 4, 32 * 64 * 4)
    assert free.cost_ns < one.cost_ns < one.one_body_ns
    assert one.solution.status is Status.FEASIBLE
    assert one.solution.bound_ns == free.cost_ns


def twice(result: str, x: str) -> str:
    """An op that adds a tensor to itself."""
    return f"""
  {result} = linalg.generic {{indexing_maps = [#same, #same], iterator_types = ["parallel"]}}
      ins({x} : tensor<?xf32>) outs(%e : tensor<?xf32>) {{
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %v, %v : f32
    linalg.yield %t : f32
  }} -> tensor<?xf32>"""


def torn(last: str) -> str:
    """A function of two ops around one that no plan sees through; the second reads ``last``."""
    return f"""
#same = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {{
  %c0 = arith.constant 0 : index
  %s = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%s) : tensor<?xf32>
  {twice("%a", "%x")}
  %b = util.optimization_barrier %a : tensor<?xf32>
  {twice("%c", last)}
  return %b, %c : tensor<?xf32>, tensor<?xf32>
}}
"""


def test_ops_that_stay_in_between_leave_one_body(tmp_path: Path) -> None:
    assert one_body(read(tmp_path, torn("%b")), 0, ()) == (
        "its ops stand ahead of and behind a util.optimization_barrier that stays as it came"
    )
    assert one_body(read(tmp_path, torn("%a")), 0, ()) == ""


def test_private_functions_and_blocks_have_one_body(tmp_path: Path) -> None:
    called = f"""
#same = affine_map<(d0) -> (d0)>
func.func private @inner(%x: tensor<?xf32>) -> tensor<?xf32> {{
  %c0 = arith.constant 0 : index
  %s = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%s) : tensor<?xf32>
  {twice("%y", "%x")}
  return %y : tensor<?xf32>
}}
func.func @outer(%x: tensor<?xf32>, %e: tensor<?xf32>, %c: i1) -> tensor<?xf32> {{
  %y = func.call @inner(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %r = scf.if %c -> tensor<?xf32> {{
    {twice("%z", "%y")}
    scf.yield %z : tensor<?xf32>
  }} else {{
    scf.yield %y : tensor<?xf32>
  }}
  return %r : tensor<?xf32>
}}
"""
    module = read(tmp_path, called)
    reasons = {name: one_body(module, i, ()) for i, name in enumerate(module.names)}
    assert reasons == {
        "inner": (
            "it is called by other functions only, and not compared around boundaries by itself"
        ),
        "outer": "",
        "outer/if.0.then": "blocks of control flow have one plan for all sizes",
        "outer/if.0.else": "blocks of control flow have one plan for all sizes",
    }


def test_sizes_that_are_no_dims_of_arguments_leave_one_body(tmp_path: Path) -> None:
    text = """
func.func @main(%n: index, %x: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %z = arith.constant 1.0 : f32
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = linalg.matmul ins(%f, %x : tensor<?x8xf32>, tensor<8x8xf32>) outs(%f : tensor<?x8xf32>)
      -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
"""
    module = read(tmp_path, text)
    (size,) = open_sizes(module.graphs[0])
    assert one_body(module, 0, (PlannedSize(size.name, (1, 128)),)) == (
        f"{size.name} is no dim of an argument, so that no boundary can be tried out"
    )
    assert one_body(module, 0, (PlannedSize(size.name, (128,)),)) == ""


def test_what_one_plan_takes_leaves_time_for_ranges(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the solver takes all that it may have for one plan for all sizes."""
    first: list[Solution] = []

    def greedy(self: TimeLimit, *asked: object, **more: object) -> Solution:
        solution = own(self, *asked, **more)  # type: ignore[arg-type]
        if not first:
            self._left_s = 0.0
        first.append(solution)
        return solution

    own = TimeLimit.solve
    monkeypatch.setattr(TimeLimit, "solve", greedy)
    assert plan(graph, options(*SIZES)).specializations
