"""What rounding is allowed to do."""

from __future__ import annotations

import pytest

from layoutopt.verification.tolerance import rounding_of
from tests.parsing import lifted

MATMUL = """
func.func @main(%x: tensor<16xKx{a}>, %w: tensor<Kx16x{a}>) -> tensor<16x16x{b}> {{
  %z = arith.constant {zero} : {b}
  %e = tensor.empty() : tensor<16x16x{b}>
  %f = linalg.fill ins(%z : {b}) outs(%e : tensor<16x16x{b}>) -> tensor<16x16x{b}>
  %y = linalg.matmul ins(%x, %w : tensor<16xKx{a}>, tensor<Kx16x{a}>)
      outs(%f : tensor<16x16x{b}>) -> tensor<16x16x{b}>
  return %y : tensor<16x16x{b}>
}}
"""
QUANTIZE = """
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<16xf32>) -> tensor<16xi8> {
  %e = tensor.empty() : tensor<16xi8>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%e : tensor<16xi8>) {
  ^bb0(%a: f32, %b: i8):
    %r = math.roundeven %a : f32
    %i = arith.fptosi %r : f32 to i8
    linalg.yield %i : i8
  } -> tensor<16xi8>
  return %y : tensor<16xi8>
}
"""


def tolerance(a: str, b: str, terms: int, exact: bool = False) -> float:
    zero = "0.0" if "f" in b else "0"
    text = MATMUL.format(a=a, b=b, zero=zero).replace("K", str(terms))
    return rounding_of([lifted(text)]).tolerance(exact)


def test_integers_are_exact() -> None:
    assert tolerance("i8", "i32", 64) == 0


def test_f32_has_room_for_winograd_unless_it_is_to_be_exact() -> None:
    assert tolerance("f32", "f32", 64) == 1e-3
    assert 1e-6 < tolerance("f32", "f32", 64, exact=True) < 1e-5


def test_longer_sums_and_coarser_types_are_off_by_more() -> None:
    short, long = (tolerance("bf16", "bf16", terms) for terms in (4, 64))
    assert long == pytest.approx(short * 4, rel=0.3)
    assert tolerance("bf16", "f32", 64) < tolerance("bf16", "bf16", 64)
    assert tolerance("f16", "f16", 64) == pytest.approx(tolerance("bf16", "bf16", 64) / 8, rel=0.3)
    assert tolerance("bf16", "bf16", 4096) == 0.5


def test_roundings_to_integers_may_be_tipped_over() -> None:
    found = rounding_of([lifted(QUANTIZE)])
    assert found.steps
    assert 2**-6 < found.tolerance(exact=False) < 2**-4
