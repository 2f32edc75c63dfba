"""Direct convolutions run in IREE with the schedule that they were given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import layoutopt
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import find_tool
from tests.made_up_prices import MadeUpPrices, structured

MODEL = """
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#bias = affine_map<(d0, d1, d2, d3) -> (d1)>
func.func @main(%x: tensor<1x6x9x7xf32>, %b: tensor<64xf32>) -> tensor<1x64x5x7xf32> {
  %w = arith.constant dense_resource<w> : tensor<64x6x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x6x9x7xf32> to tensor<1x6x11x9xf32>
  %e = tensor.empty() : tensor<1x64x5x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x64x5x7xf32>) -> tensor<1x64x5x7xf32>
  %c = linalg.conv_2d_nchw_fchw
      {strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%p, %w : tensor<1x6x11x9xf32>, tensor<64x6x3x3xf32>)
      outs(%f : tensor<1x64x5x7xf32>) -> tensor<1x64x5x7xf32>
  %r = linalg.generic {indexing_maps = [#id, #bias, #id],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %b : tensor<1x64x5x7xf32>, tensor<64xf32>) outs(%e : tensor<1x64x5x7xf32>) {
  ^bb0(%p0: f32, %q: f32, %o: f32):
    %s = arith.addf %p0, %q : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x64x5x7xf32>
  return %r : tensor<1x64x5x7xf32>
}
{-#
  dialect_resources: { builtin: { w: "0x04000000NUMBERS" } }
#-}
"""
NUMBERS = ((np.arange(64 * 6 * 9) * 7 % 61 - 30) / 8).astype("<f4").tobytes().hex()


def direct_first(work: Work) -> int:
    contractions = [op for op in structured(work) if op.is_contraction]
    direct = [op for op in contractions if op.schedule is not None and op.schedule.windowed]
    return 1 if direct or not contractions else 1_000_000


@pytest.mark.skipif(load_target("host").registers is None, reason="no tiles for this processor")
def test_a_direct_convolution_keeps_its_schedule_with_what_is_around_it(tmp_path: Path) -> None:
    model, made = tmp_path / "model.mlir", tmp_path / "made.mlir"
    model.write_text(MODEL.replace("NUMBERS", NUMBERS))
    options = layoutopt.Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(model, options=options, pricer=MadeUpPrices(direct_first))
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    (choice,) = (c for c in plan.report.choices if c.op.startswith("convolution"))
    assert "direct, filters in panels" in choice.form
    plan.apply(made)
    phase = ("--compile-to=executable-configurations", "-o", "-")
    configured = subprocess.run(
        [find_tool("iree-compile"), str(made), *plan.report.compile_flags, *phase],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    (dispatch,) = (x for x in configured.stdout.split("hal.executable private") if "fold-unit" in x)
    assert "vector_common_parallel = [1, 7, " in dispatch
    assert "arith.maximumf" in dispatch
