from __future__ import annotations

import pytest

from layoutopt.options import Effort, Options
from layoutopt.planning.explored import Explored
from tests.parsing import lifted
from tests.planning import HOST

IMAGE = """
func.func @main(%x: tensor<6x16x32xf32>) -> tensor<6x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<0.5> : tensor<32x32xf32>
  %e = tensor.empty() : tensor<6x16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x16x32xf32>) -> tensor<6x16x32xf32>
  %y = linalg.generic {
    indexing_maps = [affine_map<(h, w, n, k) -> (h, w, k)>, affine_map<(h, w, n, k) -> (k, n)>,
                     affine_map<(h, w, n, k) -> (h, w, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]
  } ins(%x, %w : tensor<6x16x32xf32>, tensor<32x32xf32>) outs(%f : tensor<6x16x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<6x16x32xf32>
  return %y : tensor<6x16x32xf32>
}
"""


@pytest.mark.parametrize("effort", list(Effort))
def test_rows_of_images_take_tiles_where_all_that_could_pay_is_priced(effort: Effort) -> None:
    space = Explored(HOST, Options(effort=effort)).space(lifted(IMAGE))
    packed = any(candidate.form.is_packed for candidate in space.candidates)
    assert packed == (effort is Effort.THOROUGH)
