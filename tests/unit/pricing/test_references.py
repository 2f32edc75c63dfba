"""The reference of candidates: the model's own ops, by the oracle or as IREE computes them."""

from __future__ import annotations

import numpy as np

from layoutopt.candidates.cluster import cluster_of, form_clusters
from layoutopt.candidates.explore import explore
from layoutopt.candidates.saturation import saturate
from layoutopt.ir.graph import Graph
from layoutopt.oracle import evaluate
from layoutopt.pricing.references import References, own_ops
from layoutopt.profiles.target import load_target
from layoutopt.rules.rewrites.examples import convolution_example
from tests.parsing import lifted

SQUARED = """
#m = affine_map<(i) -> (i)>
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = arith.constant 1 : i32
    %q = BODY
    linalg.yield %q : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}
"""


OFF_BY_ZERO_POINT = """
func.func @f(%x: tensor<3x2xi8>, %z: tensor<i32>) -> tensor<3x4xi32> {
  %w = arith.constant dense<[[1, 2, 3, -4], [5, -6, 7, 8]]> : tensor<2x4xi8>
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3x4xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<3x4xi32>) -> tensor<3x4xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> ()>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %z : tensor<3x2xi8>, tensor<2x4xi8>, tensor<i32>)
      outs(%f : tensor<3x4xi32>) {
  ^bb0(%a: i8, %b: i8, %c: i32, %o: i32):
    %p = arith.extsi %a : i8 to i32
    %q = arith.extsi %b : i8 to i32
    %d = arith.subi %p, %c : i32
    %r = arith.muli %d, %q : i32
    %s = arith.addi %o, %r : i32
    linalg.yield %s : i32
  } -> tensor<3x4xi32>
  return %y : tensor<3x4xi32>
}
"""


def graph_of(body: str) -> Graph:
    return lifted(SQUARED.replace("BODY", body))


def test_candidates_are_compared_with_the_models_own_ops() -> None:
    egraph = saturate(convolution_example(filter_size=1, stride=2))
    graph = egraph.graph
    references = References(graph, (range(egraph.original_ops),))
    other = next(
        c
        for c in form_clusters(egraph)
        if c.root >= egraph.original_ops and set(c.inputs) == {0, 1} and c.outputs == (2,)
    )
    own = range(egraph.original_ops)
    assert own_ops(graph, own, other, own) == (0,)
    found = references.of(other)
    alone = Graph(graph.types, graph.ops[:1], graph.inputs, graph.outputs)
    wanted = evaluate(alone, {t: found.values[t] for t in graph.inputs})
    assert np.array_equal(found.values[2], wanted[2])


def test_what_a_normalized_op_reads_is_chosen_as_it_reads_it() -> None:
    """A contraction of integers reads sums of weights beside these; the model as it came does not.

    Both read the weights, and sums that are chosen apart from them are none of theirs.
    """
    space = explore(lifted(OFF_BY_ZERO_POINT), load_target("host"))
    egraph = space.egraph
    graph = egraph.graph
    references = References(graph, (egraph.came, range(egraph.original_ops)))
    (result,) = graph.outputs
    corrected = [c for c in space.clusters if c.outputs == (result,) and not c.replaced]
    assert any(len(c.weights) == 2 for c in corrected), "none reads weights and their sums"
    for cluster in corrected:
        found = references.of(cluster)
        ops = tuple(graph.ops[i] for i in cluster.ops)
        read = (*cluster.inputs, *cluster.weights)
        alone = Graph(graph.types, ops, read, (result,))
        values = evaluate(alone, {t: found.values[t] for t in read})
        assert np.array_equal(values[result], found.values[result])


def test_where_the_oracle_does_not_know_an_op_nothing_is_checked() -> None:
    graph = graph_of('"llvm.intr.sin"(%a) : (f32) -> f32')
    references = References(graph, (range(len(graph.ops)),))
    cluster = cluster_of(graph, (0,))
    found = references.of(cluster)
    assert found.unchecked == (
        "oracle: expected a known scalar op, but got llvm.intr.sin; skip the check"
    )
    assert cluster.inputs[0] in found.values
    assert cluster.outputs[0] not in found.values


def test_what_iree_computed_is_right_from_then_on() -> None:
    graph = graph_of('"llvm.intr.sin"(%a) : (f32) -> f32')
    references = References(graph, (range(len(graph.ops)),))
    cluster = cluster_of(graph, (0,))
    computed = np.sin(references.of(cluster).values[cluster.inputs[0]])
    references.learn(cluster, [computed])
    found = references.of(cluster)
    assert found.unchecked == ""
    assert np.array_equal(found.values[cluster.outputs[0]], computed)
    assert 0 < float(found.errors[cluster.outputs[0]].max()) < 1e-5
