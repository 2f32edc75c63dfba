"""Copies of windows as a choice among slices: IREE computes the same of them."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import layoutopt
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import load_target
from tests.made_up_prices import MadeUpPrices, structured

STRIDED = """
func.func @main(%x: tensor<1x33x33x{channels}x{element}>) -> tensor<1x16x16x48x{sum}> {{
  %w = arith.constant dense_resource<w> : tensor<3x3x{channels}x48x{element}>
  %zero = arith.constant {zero} : {sum}
  %e = tensor.empty() : tensor<1x16x16x48x{sum}>
  %f = linalg.fill ins(%zero : {sum}) outs(%e : tensor<1x16x16x48x{sum}>)
      -> tensor<1x16x16x48x{sum}>
  %y = linalg.conv_2d_nhwc_hwcf {{strides = dense<2> : tensor<2xi64>}}
      ins(%x, %w : tensor<1x33x33x{channels}x{element}>, tensor<3x3x{channels}x48x{element}>)
      outs(%f : tensor<1x16x16x48x{sum}>) -> tensor<1x16x16x48x{sum}>
  return %y : tensor<1x16x16x48x{sum}>
}}
{{-#
  dialect_resources: {{ builtin: {{ w: "0x08000000{weights}" }} }}
#-}}
"""


def copies_of_windows_first(work: Work) -> int:
    """What looks at its place is cheap; whatever reads through windows is dear."""
    ops = structured(work)
    if any(o.body.reads_index for o in ops):
        return 1
    windowed = any(len(form.terms) > 1 for o in ops for m in o.source_maps for form in m)
    return 1_000_000 if windowed else 1_000


@pytest.mark.skipif(load_target("host").registers is None, reason="no tiles for this processor")
@pytest.mark.parametrize(
    ("element", "channels"), [("f32", 64), ("f32", 20), ("bf16", 32), ("i8", 64)]
)
def test_copies_of_windows_are_computed_right(element: str, channels: int, tmp_path: Path) -> None:
    floats = element != "i8"
    weights = np.random.default_rng(0).integers(-2, 3, 9 * channels * 48)
    kinds = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8}
    model = tmp_path / "model.mlir"
    model.write_text(
        STRIDED.format(
            element=element,
            channels=channels,
            sum="f32" if floats else "i32",
            zero="0.0" if floats else "0",
            weights=weights.astype(kinds[element]).tobytes().hex().upper(),
        )
    )
    options = layoutopt.Options(cache=tmp_path / "cache", effort=layoutopt.Effort.THOROUGH)
    plan = layoutopt.optimize(model, options=options, pricer=MadeUpPrices(copies_of_windows_first))
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert any("in one pass" in c.form for c in plan.report.choices)
