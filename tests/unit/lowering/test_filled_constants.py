"""A constant of one value is written as such in any layout, and no weight is kept for it."""

from __future__ import annotations

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.explore import Space
from layoutopt.ir.graph import Structured
from layoutopt.ir.scalar import fill_value
from tests.parsing import lifted
from tests.planning import planned

MODEL = """
func.func @main(%t: tensor<16x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xi32>) {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant dense<7> : tensor<4x5xi32>
  %e = tensor.empty() : tensor<4x5xf32>
  %v = linalg.fill ins(%low : f32) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
  %xe = tensor.empty() : tensor<4x16xf32>
  %x = linalg.transpose ins(%t : tensor<16x4xf32>) outs(%xe : tensor<4x16xf32>)
      permutation = [1, 0]
  %y:2 = iree_linalg_ext.topk dimension(1) ins(%x : tensor<4x16xf32>)
      outs(%v, %none : tensor<4x5xf32>, tensor<4x5xi32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %c : i1
  } -> tensor<4x5xf32>, tensor<4x5xi32>
  %re = tensor.empty() : tensor<5x4xf32>
  %r = linalg.transpose ins(%y#0 : tensor<4x5xf32>) outs(%re : tensor<5x4xf32>)
      permutation = [1, 0]
  %se = tensor.empty() : tensor<5x4xi32>
  %s = linalg.transpose ins(%y#1 : tensor<4x5xi32>) outs(%se : tensor<5x4xi32>)
      permutation = [1, 0]
  return %r, %s : tensor<5x4xf32>, tensor<5x4xi32>
}
"""


def test_what_is_filled_is_filled_as_it_is_read() -> None:
    """Where the top of columns is sought along the columns, without a transpose."""

    def price(_: Space, candidate: Candidate) -> int:
        return 1 + 100 * all(layout.is_row_major for _, layout in candidate.layouts)

    lowered = planned(lifted(MODEL), price, 10_000)
    ops = [op for op in lowered.graph.ops if isinstance(op, Structured) and not op.sources]
    assert sorted((op.domain, fill_value(op.body)) for op in ops) == [
        ((5, 4), "0xFF800000 : f32"),
        ((5, 4), "7 : i32"),
    ]
    assert lowered.hoisted == ()
