"""Direct convolutions run in IREE with the schedule that they were given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import layoutopt
from layoutopt.ir.roles import roles
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import load_target
from tests.made_up_prices import MadeUpPrices, structured
from tests.marks import long
from tests.planned_executables import compile_plans

WIDTH, FEATURES = 7, 64


def model_text(stride: int, groups: int) -> str:
    """A convolution behind a pad, with bias and clamp; ``stride``: along rows of seven results."""
    inner = (WIDTH - 1) * stride + 1
    named = groups > 1
    g, name, several = (f"x{groups}", "ngchw_gfchw", ", 0") if named else ("", "nchw_fchw", "")
    dims, loops = (5, "d0, d1, d2, d3, d4") if named else (4, "d0, d1, d2, d3")
    bias = f"tensor<{groups}x{FEATURES // groups}xf32>" if named else f"tensor<{FEATURES}xf32>"
    x, p = (f"tensor<1{g}x6x{h}x{w}xf32>" for h, w in ((9, inner), (11, inner + 2)))
    w = f"tensor<{g[1:] + 'x' if named else ''}{FEATURES // groups}x6x3x3xf32>"
    y = f"tensor<1{g}x{FEATURES // groups}x5x{WIDTH}xf32>"
    indices = ", ".join(f"%i{d}: index" for d in range(dims))
    number = ((np.arange(FEATURES * 6 * 9) * 7 % 61 - 30) / 8).astype("<f4").tobytes().hex()
    return f"""
#id = affine_map<({loops}) -> ({loops})>
#bias = affine_map<({loops}) -> ({"d1, d2" if named else "d1"})>
func.func @main(%x: {x}, %b: {bias}) -> {y} {{
  %w = arith.constant dense_resource<w> : {w}
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0{several}, 0, 1, 1] high[0{several}, 0, 1, 1] {{
  ^bb0({indices}):
    tensor.yield %zero : f32
  }} : {x} to {p}
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %c = linalg.conv_2d_{name} {{strides = dense<[2, {stride}]> : tensor<2xi64>}}
      ins(%p, %w : {p}, {w}) outs(%f : {y}) -> {y}
  %r = linalg.generic {{indexing_maps = [#id, #bias, #id],
                       iterator_types = [{", ".join(['"parallel"'] * dims)}]}}
      ins(%c, %b : {y}, {bias}) outs(%e : {y}) {{
  ^bb0(%p0: f32, %q: f32, %o: f32):
    %s = arith.addf %p0, %q : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  }} -> {y}
  return %r : {y}
}}
{{-#
  dialect_resources: {{ builtin: {{ w: "0x04000000{number}" }} }}
#-}}
"""


def direct_first(work: Work) -> int:
    contractions = [op for op in structured(work) if op.is_contraction]
    direct = [
        op
        for op in contractions
        if op.schedule is not None
        and op.schedule.windowed
        and op.result_maps[0][-1].plain_dim in roles(op).n  # a vector of features, not of groups
    ]
    return 1 if direct or not contractions else 1_000_000


@pytest.mark.skipif(load_target("host").registers is None, reason="no tiles for this processor")
@pytest.mark.parametrize(("stride", "groups"), [long(1, 1), long(2, 1), long(1, 4), (2, 4)])
def test_a_direct_convolution_keeps_its_schedule_with_what_is_around_it(
    tmp_path: Path, stride: int, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, configured = tmp_path / "model.mlir", tmp_path / "configured.mlir"
    compile_plans(monkeypatch, configured, "executable-configurations")
    model.write_text(model_text(stride, groups))
    options = layoutopt.Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(model, options=options, pricer=MadeUpPrices(direct_first))
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    forms = [c.form for c in plan.report.choices if c.op.startswith("convolution")]
    (form,) = (f for f in forms if "direct, filters in panels" in f)
    assert ("convolution-to-space-to-depth" in form) == (stride > 1)
    executables = configured.read_text().split("hal.executable private")
    (dispatch,) = (text for text in executables if "fold-unit" in text)
    assert "vector_common_parallel = [1, 7, " in dispatch
    assert "arith.maximumf" in dispatch
