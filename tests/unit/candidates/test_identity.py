"""The model as it came: what it costs, and that a plan may keep it beside its canonical form."""

from __future__ import annotations

from layoutopt.candidates.candidate import Candidate, physical_form
from layoutopt.candidates.explore import Space, explore
from layoutopt.candidates.identity import identity_candidates
from layoutopt.ir.graph import FromTensor, Graph, Structured, kind_name
from layoutopt.ir.refusal import Refusal
from layoutopt.normalize.quantization.example import quantized_example
from layoutopt.options import Objective
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Analytic
from tests.parsing import lifted
from tests.planning import HOST, planned, setting

BIASED = """
func.func @main(%x: tensor<16x32xf32>, %w: tensor<32x24xf32>) -> tensor<16x24xf32> {
  %b = arith.constant dense_resource<b> : tensor<16x24xf32>
  %y = linalg.matmul ins(%x, %w : tensor<16x32xf32>, tensor<32x24xf32>)
    outs(%b : tensor<16x24xf32>) -> tensor<16x24xf32>
  %e = tensor.empty() : tensor<16x24xf32>
  %r = linalg.map { math.absf } ins(%y : tensor<16x24xf32>) outs(%e : tensor<16x24xf32>)
  return %r : tensor<16x24xf32>
}
"""


BRANCHED = """
func.func @main(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = linalg.matmul ins(%a, %b : tensor<8x4xf32>, tensor<4x8xf32>)
    outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %same = tensor.expand_shape %m [[0], [1]] output_shape [8, 8]
    : tensor<8x8xf32> into tensor<8x8xf32>
  %x = linalg.map { math.absf } ins(%same : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>)
  %y = linalg.map { arith.mulf } ins(%same, %c : tensor<8x8xf32>, tensor<8x8xf32>)
    outs(%e : tensor<8x8xf32>)
  %r = linalg.map { arith.addf } ins(%x, %y : tensor<8x8xf32>, tensor<8x8xf32>)
    outs(%e : tensor<8x8xf32>)
  return %r : tensor<8x8xf32>
}
"""
"""Normalization replaces the ops behind the reshape that does nothing, and not the last one."""


def kinds(space: Space) -> list[list[str]]:
    graph = space.egraph.graph
    found = identity_candidates(space.egraph, space.clusters)
    return [[kind_name(graph.ops[i]) for i in space.clusters[c.cluster].ops] for c in found]


def starts_from_the_bias(graph: Graph) -> bool:
    structured = [op for op in graph.ops if isinstance(op, Structured)]
    return any(isinstance(init, FromTensor) for op in structured for init in op.inits)


def is_identity(space: Space, candidate: Candidate) -> bool:
    return candidate in identity_candidates(space.egraph, space.clusters)


def test_the_identity_is_the_model_as_it_came() -> None:
    space = explore(lifted(BIASED), HOST)
    assert kinds(space) == [["contraction", "elementwise"]]
    (came,) = identity_candidates(space.egraph, space.clusters)
    form = physical_form(space.egraph.graph, space.clusters[came.cluster], came)
    assert not isinstance(form, Refusal)
    assert starts_from_the_bias(form.graph)


def test_ops_are_computed_before_they_are_read() -> None:
    space = explore(lifted(BRANCHED), HOST)
    replaced = [cluster for cluster in space.clusters if cluster.replaced]
    assert [len(cluster.ops) for cluster in replaced] == [1, 1, 3]
    graph = space.egraph.graph
    for cluster in space.clusters:
        computed = {*cluster.inputs, *cluster.weights}
        for op in (graph.ops[i] for i in cluster.ops):
            assert computed >= {*op.inputs}
            computed.update(op.outputs)


def test_a_sum_of_products_of_quantized_numbers_stays_one_too() -> None:
    space = explore(quantized_example(along=1), HOST)
    assert kinds(space) == [["reduction"]]
    names = {name for names in space.egraph.rule for name in names}
    assert "contract-as-integers" in names


def test_without_a_canonical_form_there_is_one_cluster_for_each_part() -> None:
    space = explore(quantized_example(along=2), HOST)
    assert kinds(space) == [["reduction"]]
    assert not any(cluster.replaced for cluster in space.clusters)
    refused = [r for r in space.refusals if r.rule == "contract-as-integers"]
    assert [r.reason for r in refused] == [
        "expected zero points and scales that stay the same along the sum, but one is read by "
        "loop 2, which is summed over"
    ]


def test_a_plan_keeps_the_model_as_it_came_where_that_is_cheapest() -> None:
    graph = lifted(BIASED)
    kept = planned(graph, lambda space, c: 1 if is_identity(space, c) else 1000, 1)
    assert starts_from_the_bias(kept.graph)
    other = planned(graph, lambda space, c: 1000 if is_identity(space, c) else 1, 1)
    assert not starts_from_the_bias(other.graph)


def test_what_is_predicted_of_the_model_is_its_own_price() -> None:
    plan = plan_graph(lifted(BIASED), setting(HOST, Analytic(HOST)))
    (came,) = plan.identity
    assert plan.clusters[came.cluster].replaced
    assert plan.identity_ns == plan.costs[came]
    assert plan.cost_ns <= plan.identity_ns


def test_fewest_conversions_do_not_get_around_packing() -> None:
    space = explore(lifted(BIASED), HOST, Objective.CONVERSIONS)
    assert not any(space.clusters[c.cluster].replaced for c in space.candidates)
