"""Ops that nothing reads take no part in a plan."""

from __future__ import annotations

from layoutopt.ir.graph import Constant
from layoutopt.normalize.canonical_form import canonical_form
from tests.parsing import lifted
from tests.planning import planned

DEAD = """
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c = arith.constant dense<2.0> : tensor<4x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %dead = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>)
                        outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %deader = linalg.map { arith.addf } ins(%dead, %c : tensor<4x4xf32>, tensor<4x4xf32>)
                                      outs(%e : tensor<4x4xf32>)
  %y = linalg.map { arith.mulf } ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>)
                                 outs(%e : tensor<4x4xf32>)
  return %y : tensor<4x4xf32>
}
"""


def test_ops_that_nothing_reads_are_dropped_with_what_only_they_need() -> None:
    graph = lifted(DEAD)
    kept = canonical_form(graph).graph
    assert [type(op).__name__ for op in kept.ops] == ["Constant", "Structured"]
    assert len(kept.names) == len(kept.ops)
    assert kept.ops[1].outputs == graph.outputs


def test_a_model_with_such_ops_has_a_plan() -> None:
    lowered = planned(lifted(DEAD), lambda space, candidate: 1, 1)
    assert len([op for op in lowered.graph.ops if not isinstance(op, Constant)]) == 1
