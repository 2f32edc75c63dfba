"""Budgets as text and in bytes, and what plans make of them."""

import math
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pytest

from layoutopt.errors import InputError
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.planned_sizes import divided, open_sizes, planned_for
from layoutopt.ir.types import TensorType
from layoutopt.ir.weights import ONCE, WeightReuse, constant_names, weight_bytes, weight_reuse
from layoutopt.mlir.module import parse_module
from layoutopt.options import Budget, Objective, Options
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.planner import plan_graphs
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from tests.models import chain_of_convolutions, chain_of_matmuls
from tests.parameters import TIED
from tests.parsing import lifted
from tests.planning import setting


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("4096", 4096),
        ("2GiB", 2 << 30),
        ("1.5 kb", 1500),
        ("3 MiB", 3 << 20),
        ("150%", 300),
        ("0.5 %", 1),
        ("7b", 7),
    ],
)
def test_a_budget_in_bytes(text: str, size_bytes: int) -> None:
    assert Budget.parse(text, "--weight-budget").size_bytes(200) == size_bytes


@pytest.mark.parametrize("text", ["", "much", "-1", "2 GiBs", "%", "1e3", "10%%"])
def test_a_budget_that_is_none(text: str) -> None:
    with pytest.raises(InputError) as error:
        Budget.parse(text, "--weight-budget")
    assert str(error.value) == (
        "--weight-budget: expected bytes such as 2GiB, or a share of what the model has as it came "
        f"such as 50%, but got '{text}'; correct the option"
    )


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    path = tmp_path_factory.mktemp("budget") / "model.mlir"
    path.write_text(TIED)
    return parse_module(path).graphs[0]


def plans(objective: Objective, budget: Budget | None, *graphs: Graph) -> list[GraphPlan]:
    target = load_target("host")
    options = Options(objective=objective, weight_budget=budget)
    return list(plan_graphs(graphs, setting(target, Analytic(target), options)))


def copied(*made: GraphPlan) -> int:
    """Bytes, where each plan holds its own."""
    sizes = 0
    for place, plan in enumerate(made):
        names = constant_names(replace(plan.egraph.graph, weight_names={}), place)
        sizes += sum(kind.size_bytes for kind in plan.lowered().copied_weights(names).values())
    return sizes


def test_the_weights_of_a_graph(graph: Graph) -> None:
    assert weight_bytes([graph]) == 4 * (64 * 32 + 2 * 32 * 16 + 32)


def test_what_a_run_goes_through() -> None:
    """Weights, and what lives at once: of a chain, one op's operands and result."""
    wide, narrow, weights = "tensor<4x1024xf32>", "tensor<4x16xf32>", "tensor<1x16xf32>"

    def added(left: str, right: str, kinds: tuple[str, str], result: str) -> str:
        row = "affine_map<(i, j) -> (0, j)>" if kinds[1] == weights else "#same"
        return f"""linalg.generic {{indexing_maps = [#same, {row}, #same],
            iterator_types = ["parallel", "parallel"]}}
            ins({left}, {right} : {kinds[0]}, {kinds[1]}) outs({result} : {kinds[0]}) {{
          ^bb0(%p: f32, %q: f32, %r: f32):
            %s = arith.addf %p, %q : f32
            linalg.yield %s : f32 }} -> {kinds[0]}"""

    graph = lifted(f"""#same = affine_map<(i, j) -> (i, j)>
    func.func @f(%x: {wide}) -> {narrow} {{
      %w = arith.constant dense<[[{", ".join(["1.0"] * 15)}, 2.0]]> : {weights}
      %e = tensor.empty() : {wide}
      %f = tensor.empty() : {narrow}
      %a = {added("%x", "%x", (wide, wide), "%e")}
      %b = {added("%a", "%x", (wide, wide), "%e")}
      %c = tensor.extract_slice %b[0, 0] [4, 16] [1, 1] : {wide} to {narrow}
      %d = {added("%c", "%w", (narrow, weights), "%f")}
      return %d : {narrow}
    }}""")
    weight, big = 16 * 4, 4 * 1024 * 4
    assert weight_bytes([graph]) == weight
    assert weight_reuse([graph]).size_bytes == weight + 3 * big  # x, a and b
    assert weight_reuse([graph, graph]).size_bytes == 2 * weight + 3 * big
    assert weight_reuse([]) == ONCE


def _weighted(columns: int) -> Graph:
    """A row plus a constant one."""
    kind = f"tensor<1x{columns}xf32>"
    values = ", ".join(["1.0"] * (columns - 1) + ["2.0"])
    return lifted(f"""#same = affine_map<(i, j) -> (i, j)>
    func.func @f(%x: {kind}) -> {kind} {{
      %w = arith.constant dense<[[{values}]]> : {kind}
      %e = tensor.empty() : {kind}
      %d = linalg.generic {{indexing_maps = [#same, #same, #same],
          iterator_types = ["parallel", "parallel"]}}
          ins(%x, %w : {kind}, {kind}) outs(%e : {kind}) {{
        ^bb0(%p: f32, %q: f32, %r: f32):
          %s = arith.addf %p, %q : f32
          linalg.yield %s : f32 }} -> {kind}
      return %d : {kind}
    }}""")


def test_in_a_loop_a_trip_lies_between_two_uses_of_a_weight() -> None:
    """Unless what is outside reads more weights than all trips do."""
    outside, body = (_weighted(columns) for columns in (4096, 16))
    whole = weight_reuse([outside, body])
    assert weight_reuse([outside, body], [1, 1]) == whole
    assert weight_reuse([outside, body], [1, 100]) == whole
    one = weight_reuse([outside, body], [1, 10_000])
    assert one == replace(weight_reuse([body]), in_loop=True)
    assert one.size_bytes < whole.size_bytes
    assert weight_reuse([body, outside], [1, 3]) == replace(weight_reuse([outside]), in_loop=True)


def test_what_a_run_computes_between_two_uses_of_a_weight(graph: Graph) -> None:
    once = weight_reuse([graph]).operations
    assert once == sum(
        2 * math.prod(op.domain)
        for op in graph.ops
        if isinstance(op, Structured) and op.is_contraction
    )
    assert once > 0
    assert weight_reuse([graph, graph], [1, 1]).operations == 2 * once
    looping = weight_reuse([graph, _weighted(16)], [5, 1])
    assert (looping.in_loop, looping.operations) == (True, once)  # of one trip


def test_weights_in_windows_are_those_of_convolutions() -> None:
    filters = np.arange(2 * 3 * 3, dtype=np.float32).reshape(2, 1, 3, 3).tolist()
    image = chain_of_convolutions([1, 2]).replace("<0.0625>", f"<{filters}>")
    rows = chain_of_matmuls(4, [2, 2]).replace("<0.0625>", "<[[1.0, 2.0], [3.0, 4.0]]>")
    point = image.replace("3x3xf32", "1x1xf32").replace("26x26", "28x28")
    point = point.replace(f"<{filters}>", "<[[[[1.0]]], [[[2.0]]]]>")
    found = [weight_reuse([lifted(text)]) for text in (image, point, rows)]
    assert [reuse.in_windows_bytes for reuse in found] == [4 * 2 * 3 * 3, 0, 0]
    assert all(reuse.size_bytes for reuse in found)
    assert weight_reuse([lifted(chain_of_convolutions([1, 2]))]).in_windows_bytes == 0  # a splat


def test_open_sizes_count_as_planned() -> None:
    graph = lifted("""func.func @f(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>) -> tensor<?x4xf32> {
      %zero = arith.constant 0.0 : f32
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?x8xf32>
      %e = tensor.empty(%n) : tensor<?x4xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
      %y = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x4xf32>)
          outs(%i : tensor<?x4xf32>) -> tensor<?x4xf32>
      return %y : tensor<?x4xf32>
    }""")
    (size,) = open_sizes(graph)
    (name,) = {divided(size)[0]}
    operations = weight_reuse([planned_for(graph, {name: 10})]).operations
    assert (type(operations), operations) == (int, 2 * 10 * 8 * 4)


@pytest.mark.parametrize(("copied_bytes", "size_bytes"), [(0, 100), (60, 100), (70, 110)])
def test_copies_of_a_plan_take_the_place_of_weights(copied_bytes: int, size_bytes: int) -> None:
    reuse = WeightReuse(100, operations=7)
    assert reuse.of_plan(60, copied_bytes) == WeightReuse(size_bytes, operations=7, planned=True)


def test_functions_share_one_budget(graph: Graph) -> None:
    whole = copied(*plans(Objective.CONVERSIONS, None, graph))
    assert whole > 0
    alone = replace(graph, weight_names={})
    both = plans(Objective.CONVERSIONS, Budget(2 * whole), alone, alone)
    assert copied(*both) == 2 * whole
    with pytest.raises(InputError) as error:
        plans(Objective.CONVERSIONS, Budget(2 * whole - 1), alone, alone)
    assert str(error.value) == (
        f"--weight-budget: expected at least {whole} bytes for --objective=conversions, but got "
        f"{whole - 1}; raise it"
    )


def test_a_budget_bounds_the_copies_of_the_fastest_plan(graph: Graph) -> None:
    free = copied(*plans(Objective.LATENCY, None, graph))
    for size in (0, free // 2, free):
        assert copied(*plans(Objective.LATENCY, Budget(size), graph)) <= size


def test_weights_that_functions_share_count_once(graph: Graph) -> None:
    assert weight_bytes([graph, graph]) == weight_bytes([graph])
    whole = copied(*plans(Objective.CONVERSIONS, None, graph))
    both = plans(Objective.CONVERSIONS, Budget(whole), graph, graph)
    assert copied(*both) == 2 * whole
    assert len({frozenset(held(plan)) for plan in both}) == 1
    with pytest.raises(InputError, match=f"at least {whole} bytes"):
        plans(Objective.CONVERSIONS, Budget(whole - 1), graph, graph)


def held(plan: GraphPlan) -> dict[Hashable, TensorType]:
    """What the plan holds, as all functions of the module name it."""
    return plan.lowered().copied_weights(constant_names(plan.egraph.graph, 0))
