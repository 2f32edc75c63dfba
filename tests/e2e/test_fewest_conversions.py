"""Plans with the fewest conversions, compiled, run and verified by IREE."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import layoutopt
from layoutopt.options import Options

MODEL = """
#xy = affine_map<(i, j) -> (i, j)>
#y = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<24x32xf32>) -> tensor<24x16xf32> {
  %zero = arith.constant 0.0 : f32
  %w0 = arith.constant dense<0.125> : tensor<32x40xf32>
  %w1 = arith.constant dense<-0.25> : tensor<40x16xf32>
  %e0 = tensor.empty() : tensor<24x40xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<24x40xf32>) -> tensor<24x40xf32>
  %m0 = linalg.matmul ins(%x, %w0 : tensor<24x32xf32>, tensor<32x40xf32>)
      outs(%f0 : tensor<24x40xf32>) -> tensor<24x40xf32>
  %r0 = linalg.generic {indexing_maps = [#xy, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%m0 : tensor<24x40xf32>) outs(%e0 : tensor<24x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<24x40xf32>
  %e1 = tensor.empty() : tensor<24x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<24x16xf32>) -> tensor<24x16xf32>
  %m1 = linalg.matmul ins(%r0, %w1 : tensor<24x40xf32>, tensor<40x16xf32>)
      outs(%f1 : tensor<24x16xf32>) -> tensor<24x16xf32>
  return %m1 : tensor<24x16xf32>
}
"""


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        (Options(objective="conversions"), (1, 1, 0)),
        (Options(objective="conversions", lower_packs=True), (0, 0, 2)),
        (Options(objective="conversions", free_io_layout=True), (0, 0, 0)),
    ],
    ids=["packs", "lowered", "free"],
)
def test_two_layers(options: Options, counts: tuple[int, int, int], tmp_path: Path) -> None:
    model = tmp_path / "two.mlir"
    model.write_text(MODEL, encoding="utf-8")
    plan = layoutopt.optimize(model, options=replace(options, cache=tmp_path))
    after = plan.report.after
    assert (after.pack, after.unpack, after.transpose) == counts
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    plan.apply(tmp_path / "out.mlir")
