"""Contractions with a schedule of their own run in IREE, and their neighbours leave them alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import layoutopt
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import load_target
from tests.made_up_prices import MadeUpPrices, structured
from tests.marks import long
from tests.planned_executables import compile_plans

MODEL = """
#x = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#b = affine_map<(d0, d1, d2) -> (d2)>
func.func @main(%x: tensor<{rows}x48xf32>, %bias: tensor<16xf32>) -> tensor<4x{rows}x16xf32> {{
  %w = arith.constant dense_resource<w> : tensor<48x64xf32>
  %zero = arith.constant 0.0 : f32
  {empty}
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{rows}x64xf32>) -> tensor<{rows}x64xf32>
  %m = linalg.matmul ins(%x, %w : tensor<{rows}x48xf32>, tensor<48x64xf32>)
      outs(%f : tensor<{rows}x64xf32>) -> tensor<{rows}x64xf32>
  %h = tensor.expand_shape %m [[0], [1, 2]] output_shape [{n}, 4, 16]
      : tensor<{rows}x64xf32> into tensor<{rows}x4x16xf32>
  %t = linalg.transpose ins(%h : tensor<{rows}x4x16xf32>) outs(%et : tensor<4x{rows}x16xf32>)
      permutation = [1, 0, 2]
  %r = linalg.generic {{indexing_maps = [#x, #b, #x],
                       iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%t, %bias : tensor<4x{rows}x16xf32>, tensor<16xf32>)
      outs(%et : tensor<4x{rows}x16xf32>) {{
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }} -> tensor<4x{rows}x16xf32>
  return %r : tensor<4x{rows}x16xf32>
}}
{{-#
  dialect_resources: {{ builtin: {{ w: "0x04000000{numbers}" }} }}
#-}}
"""
CLOSED = """%e = tensor.empty() : tensor<12x64xf32>
  %et = tensor.empty() : tensor<4x12x16xf32>"""
OPEN = """%c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x48xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %et = tensor.empty(%n) : tensor<4x?x16xf32>"""
NUMBERS = ((np.arange(48 * 64) * 7 % 61 - 30) / 8).astype("<f4").tobytes().hex()


def scheduled_first(work: Work) -> int:
    return 1 if any(op.schedule is not None for op in structured(work)) else 1_000_000


def peeled_first(work: Work) -> int:
    peeled = any(op.schedule is not None and op.schedule.peeled for op in structured(work))
    return 1 if peeled else 1_000_000


@pytest.mark.skipif(load_target("host").registers is None, reason="no tiles for this processor")
@pytest.mark.parametrize("price", [scheduled_first, long(peeled_first)])
@pytest.mark.parametrize(
    ("rows", "n", "empty"),
    [
        long("12", "12", CLOSED),
        ("37", "37", CLOSED.replace("12", "37")),
        long("1", "1", CLOSED.replace("12", "1")),
        ("?", "%n", OPEN),
    ],
)
def test_a_scheduled_contraction_keeps_its_loops_among_transposes(
    rows: str,
    n: str,
    empty: str,
    price: Callable[[Work], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernels = tmp_path / "kernels.mlir"
    compile_plans(monkeypatch, kernels, "executable-sources")
    model = tmp_path / "model.mlir"
    model.write_text(MODEL.format(rows=rows, n=n, empty=empty, numbers=NUMBERS))
    options = layoutopt.Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(model, options=options, pricer=MadeUpPrices(price))
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    (choice,) = (c for c in plan.report.choices if c.op.startswith("contraction"))
    if price is scheduled_first or rows not in ("1", "12"):
        assert "scheduled" in choice.form or "weights in panels" in choice.form
        assert "lowering_config" in kernels.read_text(), "the compiler has it still"


PANELS = """
func.func @main(%x: tensor<{rows}x40xf32>) -> tensor<{rows}x{n}xf32> {{
  %w = arith.constant dense_resource<w> : tensor<40x{n}xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{rows}x{n}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{rows}x{n}xf32>) -> tensor<{rows}x{n}xf32>
  %m = linalg.matmul ins(%x, %w : tensor<{rows}x40xf32>, tensor<40x{n}xf32>)
      outs(%f : tensor<{rows}x{n}xf32>) -> tensor<{rows}x{n}xf32>
  return %m : tensor<{rows}x{n}xf32>
}}
{{-#
  dialect_resources: {{ builtin: {{ w: "0x04000000{numbers}" }} }}
#-}}
"""


@pytest.mark.skipif(load_target("host").registers is None, reason="no tiles for this processor")
@pytest.mark.parametrize("side_by_side", [2, long(4)])
@pytest.mark.parametrize("rows", [long(1), 37])
def test_panels_that_are_left_beside_tiles_are_computed(
    rows: int, side_by_side: int, tmp_path: Path
) -> None:
    registers = load_target("host").registers
    assert registers is not None
    columns = 7 * registers.bits // 32

    def these_first(work: Work) -> int:
        panels = (op.schedule for op in structured(work) if op.schedule and len(op.domain) > 2)
        return 1 if any(panel.vector[-3] == side_by_side for panel in panels) else 1_000_000

    numbers = ((np.arange(40 * columns) * 7 % 61 - 30) / 8).astype("<f4").tobytes().hex()
    model = tmp_path / "model.mlir"
    model.write_text(PANELS.format(rows=rows, n=columns, numbers=numbers))
    options = layoutopt.Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(model, options=options, pricer=MadeUpPrices(these_first))
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    (choice,) = (c for c in plan.report.choices if c.op.startswith("contraction"))
    assert f"x{side_by_side}x" in choice.form
