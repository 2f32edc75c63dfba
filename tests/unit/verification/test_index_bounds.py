"""What integer arguments stand for."""

from __future__ import annotations

import pytest

from layoutopt.verification.index_bounds import integers_of
from layoutopt.verification.input_kinds import Integers, Role
from tests.parsing import lifted

LOOKUP = """
#i = affine_map<(i, j) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>
func.func @main(%t: tensor<4xi64>, %w: tensor<10x6xf32>, %n: tensor<4xi32>)
    -> (tensor<4x6xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<4xi64>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%a: i64, %o: f32):
    %r = arith.index_cast %a : i64 to index
    %c = linalg.index 1 : index
    %v = tensor.extract %w[%r, %c] : tensor<10x6xf32>
    linalg.yield %v : f32
  } -> tensor<4x6xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%n : tensor<4xi32>) outs(%e1 : tensor<4xf32>) {
  ^bb0(%a: i32, %o: f32):
    %f = arith.sitofp %a : i32 to f32
    linalg.yield %f : f32
  } -> tensor<4xf32>
  return %y, %z : tensor<4x6xf32>, tensor<4xf32>
}
"""
HIDDEN = """
func.func @main(%t: tensor<4xi64>, %w: tensor<10xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %a = tensor.extract %t[%c0] : tensor<4xi64>
  %r = arith.index_cast %a : i64 to index
  %v = tensor.extract %w[%r] : tensor<10xf32>
  return %v : f32
}
"""


@pytest.mark.parametrize(
    ("text", "argument", "expected"),
    [(LOOKUP, 0, 10), (LOOKUP, 2, Role.NUMBER), (HIDDEN, 0, Role.UNKNOWN)],
)
def test_integers_are_followed_to_what_uses_them(
    text: str, argument: int, expected: Integers
) -> None:
    graph = lifted(text)
    assert integers_of(graph, graph.inputs[argument]) == expected
