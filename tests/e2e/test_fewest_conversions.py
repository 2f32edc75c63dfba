"""Plans with the fewest conversions, compiled, run and verified by IREE."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
from layoutopt.options import Effort, Objective, Options
from layoutopt.report.report import ContractionsReport
from tests.marks import long
from tests.planning import EIGHTS

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


LOOK_UP = """
#xy = affine_map<(i, j) -> (i, j)>
#x = affine_map<(i, j) -> (i)>
func.func @main(%rows: tensor<16xi64>) -> tensor<16x13xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %table = arith.constant dense<[[0.5, 1.0, -1.0, 0.25, 2.0, 0.0, -0.5, 1.5, 0.75, -2.0, 1.0],
    [1.0, -0.25, 0.5, -1.5, 1.0, 2.0, 0.5, 0.0, -1.0, 0.25, 0.5]]> : tensor<2x11xf32>
  %w0 = arith.constant dense<-0.25> : tensor<11x19xf32>
  %w1 = arith.constant dense<0.5> : tensor<19x13xf32>
  %e = tensor.empty() : tensor<16x11xf32>
  %g = linalg.generic {indexing_maps = [#x, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<16xi64>) outs(%e : tensor<16x11xf32>) {
  ^bb0(%a: i64, %b: f32):
    %i = arith.index_cast %a : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%i, %j] : tensor<2x11xf32>
    linalg.yield %v : f32
  } -> tensor<16x11xf32>
  %e0 = tensor.empty() : tensor<16x19xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16x19xf32>) -> tensor<16x19xf32>
  %m0 = linalg.matmul ins(%g, %w0 : tensor<16x11xf32>, tensor<11x19xf32>)
      outs(%f0 : tensor<16x19xf32>) -> tensor<16x19xf32>
  %er = tensor.empty() : tensor<16xf32>
  %fl = linalg.fill ins(%low : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %max = linalg.generic {indexing_maps = [#xy, #x], iterator_types = ["parallel", "reduction"]}
      ins(%m0 : tensor<16x19xf32>) outs(%fl : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  %exp = linalg.generic {indexing_maps = [#xy, #x, #xy], iterator_types = ["parallel", "parallel"]}
      ins(%m0, %max : tensor<16x19xf32>, tensor<16xf32>) outs(%e0 : tensor<16x19xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32):
    %d = arith.subf %a, %m : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<16x19xf32>
  %e1 = tensor.empty() : tensor<16x13xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16x13xf32>) -> tensor<16x13xf32>
  %m1 = linalg.matmul ins(%exp, %w1 : tensor<16x19xf32>, tensor<19x13xf32>)
      outs(%f1 : tensor<16x13xf32>) -> tensor<16x13xf32>
  return %m1 : tensor<16x13xf32>
}
"""
"""Rows looked up by number, then half of an attention: 11, 13 and 19 fill no tile of 8."""


@pytest.mark.parametrize(
    ("rows", "counts", "masked"), [long(16, (0, 1, 0), False), (13, (1, 1, 0), True)]
)
def test_an_embedding_is_looked_up_in_tiles_and_padding_is_masked(
    rows: int, counts: tuple[int, int, int], masked: bool, tmp_path: Path
) -> None:
    """Rows that fill their tiles need no pack; where nothing divides, the padding is masked."""
    model = tmp_path / "rows.mlir"
    model.write_text(LOOK_UP.replace("tensor<16x", f"tensor<{rows}x"), encoding="utf-8")
    plan = layoutopt.optimize(
        model,
        EIGHTS,
        options=Options(effort=Effort.QUICK, objective=Objective.CONVERSIONS, cache=tmp_path),
    )
    after = plan.report.after
    assert (after.pack, after.unpack, after.transpose) == counts
    assert plan.report.contractions == ContractionsReport(2, 2, ())
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    plan.apply(tmp_path / "out.mlir")
    assert ("arith.select" in (tmp_path / "out.mlir").read_text(encoding="utf-8")) == masked


@pytest.mark.parametrize(
    ("also", "counts"),
    [
        ("", (1, 1, 0)),
        long("lower_packs", (0, 0, 2)),
        long("free_io_layout", (0, 0, 0)),
    ],
    ids=["packs", "lowered", "free"],
)
def test_two_layers(also: str, counts: tuple[int, int, int], tmp_path: Path) -> None:
    model = tmp_path / "two.mlir"
    model.write_text(MODEL, encoding="utf-8")
    options = Options(
        effort=Effort.QUICK,
        objective=Objective.CONVERSIONS,
        lower_packs=also == "lower_packs",
        free_io_layout=also == "free_io_layout",
        cache=tmp_path,
    )
    plan = layoutopt.optimize(model, EIGHTS, options=options)
    after = plan.report.after
    assert (after.pack, after.unpack, after.transpose) == counts
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    plan.apply(tmp_path / "out.mlir")
