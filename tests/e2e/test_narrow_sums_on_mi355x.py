"""Contractions that sum in bf16, as JAX writes them: IREE 3.13 compiles none for gfx950."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
from layoutopt.options import Effort

MODEL = """
func.func @main(%x: tensor<128x96xbf16>, %image: tensor<1x10x10x32xbf16>)
    -> (tensor<128x64xbf16>, tensor<1x8x8x48xbf16>) {
  %w = stablehlo.constant dense<0.03125> : tensor<96x64xbf16>
  %filter = stablehlo.constant dense<0.0625> : tensor<3x3x32x48xbf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<128x96xbf16>, tensor<96x64xbf16>) -> tensor<128x64xbf16>
  %z = stablehlo.convolution(%image, %filter)
      dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x10x10x32xbf16>, tensor<3x3x32x48xbf16>) -> tensor<1x8x8x48xbf16>
  return %y, %z : tensor<128x64xbf16>, tensor<1x8x8x48xbf16>
}
"""


@pytest.mark.long
def test_a_model_that_iree_refuses_as_it_came_is_planned_with_sums_in_f32(tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    options = layoutopt.Options(cache=tmp_path / "cache", effort=Effort.QUICK)
    plan = layoutopt.optimize(model, "mi355x", options=options)
    report = plan.report
    assert report.verification is not None
    assert report.verification.passed
    assert "failed to distribute" in report.original_refused
    assert (report.before.predicted_ms, report.before.dispatches) == (None, None)
    assert report.after.predicted_ms
    forms = [c.form for c in report.choices if c.op.startswith(("contraction", "convolution"))]
    assert len(forms) == 2
    assert all("widen-sums" in form for form in forms)
    after = [kernel for kernel in report.kernels if kernel.side == "after"]
    assert sum(kernel.matrix_cycles > 0 for kernel in after) == 2
