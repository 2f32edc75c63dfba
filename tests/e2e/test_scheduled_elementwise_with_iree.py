"""Elementwise ops with a schedule run in IREE as one dispatch each, and keep their schedule."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import load_target
from tests.made_up_prices import MadeUpPrices, structured
from tests.marks import long_but
from tests.planned_executables import compile_plans

MODEL = """
#i = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#c = affine_map<(d0, d1, d2, d3) -> (d1)>
func.func @main(%x: tensor<1x96x7x7xf32>, %y: tensor<1x96x7x7xf32>, %s: tensor<96xf32>,
                %w: tensor<49x96xf32>) -> (tensor<24x4x7x7xf32>, tensor<96x96xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x96x7x7xf32>
  %p = linalg.generic {indexing_maps = [#i, #c, #i],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %s : tensor<1x96x7x7xf32>, tensor<96xf32>) outs(%e : tensor<1x96x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<1x96x7x7xf32>
  %q = linalg.generic {indexing_maps = [#i, #i, #i],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p, %y : tensor<1x96x7x7xf32>, tensor<1x96x7x7xf32>) outs(%e : tensor<1x96x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.addf %a, %b : f32
    %m = arith.maximumf %t, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x96x7x7xf32>
  %flat = tensor.collapse_shape %q [[0, 1], [2, 3]] : tensor<1x96x7x7xf32> into tensor<96x49xf32>
  %f = tensor.empty() : tensor<96x96xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<96x96xf32>) -> tensor<96x96xf32>
  %mm = linalg.matmul ins(%flat, %w : tensor<96x49xf32>, tensor<49x96xf32>)
      outs(%g : tensor<96x96xf32>) -> tensor<96x96xf32>
  %parts = tensor.expand_shape %q [[0], [1, 2], [3], [4]] output_shape [1, 4, 24, 7, 7]
      : tensor<1x96x7x7xf32> into tensor<1x4x24x7x7xf32>
  %four = tensor.collapse_shape %parts [[0, 1], [2], [3], [4]]
      : tensor<1x4x24x7x7xf32> into tensor<4x24x7x7xf32>
  %et = tensor.empty() : tensor<24x4x7x7xf32>
  %t = linalg.transpose ins(%four : tensor<4x24x7x7xf32>) outs(%et : tensor<24x4x7x7xf32>)
      permutation = [1, 0, 2, 3]
  return %t, %mm : tensor<24x4x7x7xf32>, tensor<96x96xf32>
}
"""


def elementwise_schedules_first(work: Work) -> int:
    ops = structured(work)
    return 1 if any(o.schedule is not None and o.is_elementwise for o in ops) else 1_000_000


@pytest.mark.skipif(load_target("host").registers is None, reason="no tiles for this processor")
def test_each_is_a_dispatch_that_computes_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = tmp_path / "kernels.mlir"
    compile_plans(monkeypatch, kernels, "executable-sources")
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    options = layoutopt.Options(cache=tmp_path / "cache", effort=layoutopt.Effort.THOROUGH)
    plan = layoutopt.optimize(
        model, options=options, pricer=MadeUpPrices(elementwise_schedules_first)
    )
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    forms = [c.form for c in plan.report.choices if "elementwise, scheduled" in c.form]
    assert len(forms) == 2
    # equal schedules are one attribute
    assert kernels.read_text().count("vector_common_parallel = [1, ") >= len({*forms})


TYPED = """
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<523x77x{element}>, %s: tensor<523x{element}>, %c: tensor<523x77xi1>)
    -> (tensor<523x77x{element}>, tensor<523x77xi1>) {{
  %e = tensor.empty() : tensor<523x77x{element}>
  %ei = tensor.empty() : tensor<523x77xi1>
  %y = linalg.generic {{indexing_maps = [#m, #r, #m, #m],
      iterator_types = ["parallel", "parallel"]}}
      ins(%x, %s, %c : tensor<523x77x{element}>, tensor<523x{element}>, tensor<523x77xi1>)
      outs(%e : tensor<523x77x{element}>) {{
  ^bb0(%a: {element}, %b: {element}, %k: i1, %o: {element}):
    %m = arith.{multiply} %a, %b : {element}
    %t = arith.select %k, %m, %a : {element}
    linalg.yield %t : {element}
  }} -> tensor<523x77x{element}>
  %z = linalg.generic {{indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %s : tensor<523x77x{element}>, tensor<523x{element}>) outs(%ei : tensor<523x77xi1>) {{
  ^bb0(%a: {element}, %b: {element}, %o: i1):
    %t = arith.{less}, %a, %b : {element}
    linalg.yield %t : i1
  }} -> tensor<523x77xi1>
  return %y, %z : tensor<523x77x{element}>, tensor<523x77xi1>
}}
"""


WIDTHS = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8")


@pytest.mark.skipif(load_target("host").registers is None, reason="no tiles for this processor")
@pytest.mark.parametrize("element", long_but(["f32", "bf16", "i8"], WIDTHS))
def test_elements_of_each_width_are_computed_right(element: str, tmp_path: Path) -> None:
    multiply, less = ("mulf", "cmpf olt") if "f" in element else ("muli", "cmpi slt")
    model = tmp_path / "model.mlir"
    model.write_text(TYPED.format(element=element, multiply=multiply, less=less))
    options = layoutopt.Options(cache=tmp_path / "cache", effort=layoutopt.Effort.THOROUGH)
    plan = layoutopt.optimize(
        model, options=options, pricer=MadeUpPrices(elementwise_schedules_first)
    )
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert all("elementwise, scheduled" in c.form for c in plan.report.choices)
