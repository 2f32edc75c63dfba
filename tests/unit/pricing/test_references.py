"""The reference of candidates: the model's own ops, by the oracle or as IREE computes them."""

from __future__ import annotations

import numpy as np

from layoutopt.candidates.cluster import cluster_of, form_clusters
from layoutopt.candidates.egraph import saturate
from layoutopt.ir.graph import Graph
from layoutopt.oracle import evaluate
from layoutopt.pricing.references import References, own_ops
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
    assert own_ops(graph, range(egraph.original_ops), other) == (0,)
    found = references.of(other)
    own = Graph(graph.types, graph.ops[:1], graph.inputs, graph.outputs)
    wanted = evaluate(own, {t: found.values[t] for t in graph.inputs})
    assert np.array_equal(found.values[2], wanted[2])


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
