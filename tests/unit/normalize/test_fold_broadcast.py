"""Broadcasts are read through; contractions have init zero."""

import numpy as np

from layoutopt.ir.graph import Fill, Structured
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from tests.parsing import lifted

BIAS_AS_START = """
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %b = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %e = tensor.empty() : tensor<4x6xf32>
  %s = linalg.broadcast ins(%b : tensor<6xf32>) outs(%e : tensor<4x6xf32>) dimensions = [0]
  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>)
    outs(%s : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
"""


def test_a_broadcast_bias_is_added_behind_the_contraction() -> None:
    graph = lifted(BIAS_AS_START)
    changed = canonical_form(graph).graph
    structured = [op for op in changed.ops if isinstance(op, Structured)]
    assert [op.is_contraction for op in structured] == [True, False]
    assert structured[0].inits == (Fill("0.0 : f32"),)
    assert [len(m) for m in structured[1].source_maps] == [2, 1]


def test_the_meaning_stays() -> None:
    graph = lifted(BIAS_AS_START)
    changed = canonical_form(graph).graph
    rng = np.random.default_rng(0)
    values = {
        t: rng.integers(-3, 4, graph.types[t].shape).astype(np.float32)
        for t in (*graph.inputs, graph.ops[0].outputs[0])
    }
    result = graph.outputs[0]
    expected = evaluate(graph, values)[result]
    assert np.array_equal(evaluate(changed, values)[result], expected)


def test_accumulating_into_an_input_stays_as_it_is() -> None:
    graph = lifted("""
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>)
    outs(%y : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
""")
    assert canonical_form(graph).graph.ops == graph.ops


def test_a_batch_of_broadcast_weights_becomes_one_matrix() -> None:
    graph = lifted("""
func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<8x6xf32>) -> tensor<2x4x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x6xf32>
  %b = linalg.broadcast ins(%w : tensor<8x6xf32>) outs(%e : tensor<2x8x6xf32>) dimensions = [0]
  %o = tensor.empty() : tensor<2x4x6xf32>
  %i = linalg.fill ins(%z : f32) outs(%o : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %y = linalg.batch_matmul ins(%x, %b : tensor<2x4x8xf32>, tensor<2x8x6xf32>)
    outs(%i : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %y : tensor<2x4x6xf32>
}
""")
    changed = canonical_form(graph).graph
    (product,) = [op for op in changed.ops if isinstance(op, Structured)]
    assert changed.types[product.sources[1]].shape == (8, 6)
