"""Rows that are reduced in lanes: IREE computes the same of them, as in a softmax or a norm."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import load_target
from tests.made_up_prices import MadeUpPrices, structured
from tests.marks import long
from tests.planned_executables import compile_plans

LARGEST = {"f": ("maximumf", "0xFF800000"), "i": ("maxsi", "-128")}
MODEL = """
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<37x{row}x{element}>) -> tensor<37x{row}x{element}> {{
  %e = tensor.empty() : tensor<37x{row}x{element}>
  %n = tensor.empty() : tensor<37x{element}>
  %least = arith.constant {least} : {element}
  %zero = arith.constant {zero} : {element}
  %l = linalg.fill ins(%least : {element}) outs(%n : tensor<37x{element}>) -> tensor<37x{element}>
  %most = linalg.generic {{indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<37x{row}x{element}>) outs(%l : tensor<37x{element}>) {{
  ^bb0(%a: {element}, %o: {element}):
    %t = arith.{largest} %a, %o : {element}
    linalg.yield %t : {element}
  }} -> tensor<37x{element}>
  %z = linalg.fill ins(%zero : {element}) outs(%n : tensor<37x{element}>) -> tensor<37x{element}>
  %sum = linalg.generic {{indexing_maps = [#m, #r, #r], iterator_types = ["parallel", "reduction"]}}
      ins(%x, %most : tensor<37x{row}x{element}>, tensor<37x{element}>)
      outs(%z : tensor<37x{element}>) {{
  ^bb0(%a: {element}, %b: {element}, %o: {element}):
    %d = arith.sub{kind} %a, %b : {element}
    %t = arith.add{kind} %d, %o : {element}
    linalg.yield %t : {element}
  }} -> tensor<37x{element}>
  %y = linalg.generic {{indexing_maps = [#m, #r, #r, #m],
      iterator_types = ["parallel", "parallel"]}}
      ins(%x, %most, %sum : tensor<37x{row}x{element}>, tensor<37x{element}>, tensor<37x{element}>)
      outs(%e : tensor<37x{row}x{element}>) {{
  ^bb0(%a: {element}, %b: {element}, %c: {element}, %o: {element}):
    %d = arith.sub{kind} %a, %b : {element}
    %t = arith.mul{kind} %d, %c : {element}
    linalg.yield %t : {element}
  }} -> tensor<37x{row}x{element}>
  return %y : tensor<37x{row}x{element}>
}}
"""


def lanes_first(work: Work) -> int:
    """A piece whose rows are summed up in lanes has a third loop."""
    wide = any(op.reduction_dims and len(op.domain) == 3 for op in structured(work))
    return 1 if wide else 1_000_000


@pytest.mark.skipif(load_target("host").registers is None, reason="no lanes for this processor")
@pytest.mark.parametrize(
    ("element", "row"),
    [
        long("f64", 128),
        ("f32", 80),
        long("f16", 128),
        ("bf16", 80),
        long("i32", 128),
        long("i8", 80),
    ],
)
def test_each_element_is_computed_right(
    element: str, row: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "f" if "f" in element else "i"
    largest, least = LARGEST[kind]
    least = {"f64": "0xFFF0000000000000", "f16": "0xFC00", "bf16": "0xFF80"}.get(element, least)
    model = tmp_path / "model.mlir"
    zero = "0.0" if kind == "f" else "0"
    model.write_text(
        MODEL.format(element=element, kind=kind, largest=largest, least=least, zero=zero, row=row)
    )
    kernels = tmp_path / "kernels.mlir"
    compile_plans(monkeypatch, kernels, "flow")
    options = layoutopt.Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(model, options=options, pricer=MadeUpPrices(lanes_first))
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert [c.form for c in plan.report.choices] == ["reduced in lanes"]
    lanes = 32 if row % 32 == 0 else 16
    assert f"tensor<37x{lanes}x" in kernels.read_text()


@pytest.mark.skipif(load_target("host").registers is None, reason="no lanes for this processor")
def test_rows_that_lanes_do_not_divide_stay_as_they_came(tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    text = MODEL.format(
        element="f32", kind="f", largest="maximumf", least="0xFF800000", zero="0.0", row=197
    )
    model.write_text(text)
    options = layoutopt.Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(model, options=options, pricer=MadeUpPrices(lanes_first))
    assert "reduced in lanes" not in {c.form for c in plan.report.choices}
