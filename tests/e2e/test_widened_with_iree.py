"""Contractions of f16 and bf16 run in f32, on factors that are widened once."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import layoutopt
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import load_target
from tests.made_up_prices import MadeUpPrices, structured

MODEL = """
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<13x48x{t}>) -> tensor<13x32xf32> {{
  %w = arith.constant dense_resource<w> : tensor<48x64x{t}>
  %v = arith.constant dense_resource<v> : tensor<64x32x{t}>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<13x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<13x64xf32>) -> tensor<13x64xf32>
  %m = linalg.matmul ins(%x, %w : tensor<13x48x{t}>, tensor<48x64x{t}>)
      outs(%f : tensor<13x64xf32>) -> tensor<13x64xf32>
  %ne = tensor.empty() : tensor<13x64x{t}>
  %n = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%m : tensor<13x64xf32>) outs(%ne : tensor<13x64x{t}>) {{
  ^bb0(%p: f32, %o: {t}):
    %s = arith.maximumf %p, %zero : f32
    %c = arith.truncf %s : f32 to {t}
    linalg.yield %c : {t}
  }} -> tensor<13x64x{t}>
  %e2 = tensor.empty() : tensor<13x32xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<13x32xf32>) -> tensor<13x32xf32>
  %r = linalg.matmul ins(%n, %v : tensor<13x64x{t}>, tensor<64x32x{t}>)
      outs(%f2 : tensor<13x32xf32>) -> tensor<13x32xf32>
  return %r : tensor<13x32xf32>
}}
{{-#
  dialect_resources: {{ builtin: {{ w: "0x04000000{w}", v: "0x04000000{v}" }} }}
#-}}
"""


def numbers(count: int, element: str) -> str:
    dtype = np.dtype("<f2") if element == "f16" else np.dtype(ml_dtypes.bfloat16)
    return ((np.arange(count) * 7 % 61 - 30) / 8).astype(dtype).tobytes().hex()


def narrow_is_dear(work: Work) -> int:
    """Contractions cost nothing where they are scheduled and nothing in them is narrow."""
    types = work.form.graph.types
    found = [op for op in structured(work) if op.is_contraction]
    if all(
        op.schedule is not None and all(types[t].element == "f32" for t in op.sources)
        for op in found
    ):
        return 1
    return 1_000_000


@pytest.mark.long
@pytest.mark.skipif(load_target("host").registers is None, reason="no tiles for this processor")
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_widened_factors_give_what_narrow_ones_give(element: str, tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    w, v = numbers(48 * 64, element), numbers(64 * 32, element)
    model.write_text(MODEL.format(t=element, w=w, v=v))
    options = layoutopt.Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(model, options=options, pricer=MadeUpPrices(narrow_is_dear))
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    written = (c.form for c in plan.report.choices if c.op.startswith("contraction"))
    forms = [form for form in written if "scheduled" in form or "panels" in form]
    assert len(forms) == 2
    assert all("widen-factors" in form for form in forms)
