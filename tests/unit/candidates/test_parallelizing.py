"""Rules that keep more compute units busy are tried where a target has several."""

from __future__ import annotations

import pytest

from layoutopt.candidates.explore import explore
from layoutopt.profiles.target import load_target
from layoutopt.rules.rewrites.split_reduction import SplitReduction
from tests.parsing import lifted

SKINNY = """func.func @f(%x: tensor<4x8192xf16>, %w: tensor<8192x16xf16>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x8192xf16>, tensor<8192x16xf16>)
    outs(%start : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}"""


@pytest.mark.parametrize(
    ("target", "splits"), [("mi355x", True), ("h200", True), ("x86-64-avx512", False)]
)
def test_sums_are_split_where_several_compute_units_share_them(target: str, splits: bool) -> None:
    graph = explore(lifted(SKINNY), load_target(target)).egraph
    made = {name for names in graph.rule for name in names}
    assert (SplitReduction.name in made) == splits
    partial = {t.shape for t in graph.graph.types if len(t.shape) == 3 and t.element == "f32"}
    assert partial == ({(8, 4, 16)} if splits else set())
