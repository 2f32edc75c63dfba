"""A plan makes nothing that it does not read."""

from __future__ import annotations

import pytest

from layoutopt.options import Effort, Options
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Work
from tests.made_up_prices import MadeUpPrices, structured
from tests.parsing import lifted
from tests.planning import HOST, setting

RESIDUAL = """
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %r: tensor<32x64xf32>)
    -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  %m = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x64xf32>)
      outs(%f : tensor<32x64xf32>) -> tensor<32x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%m, %r : tensor<32x64xf32>, tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  %n = tensor.empty() : tensor<32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%n : tensor<32xf32>) -> tensor<32xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%q : tensor<32x64xf32>) outs(%i : tensor<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<32xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%y, %z : tensor<32x64xf32>, tensor<32xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  return %v : tensor<32x64xf32>
}
"""


def more_for_less(work: Work) -> int:
    """Squares cost less than nothing, stored or computed anew."""
    ops = structured(work)
    if any(op.is_contraction for op in ops):
        return 9_000 if len(work.form.graph.outputs) > 1 else 9_100
    return 3_000 // len(ops)


@pytest.mark.parametrize("effort", [Effort.NORMAL, Effort.THOROUGH])
def test_a_plan_makes_nothing_that_it_does_not_read(effort: Effort) -> None:
    """Prices are off by some percent: they say that it takes longer to store less."""
    prices = MadeUpPrices(more_for_less)
    plan = plan_graph(lifted(RESIDUAL), setting(HOST, prices, Options(effort=effort)))

    chosen = [plan.clusters[c.cluster] for c in plan.choice.candidates]
    assert any(cluster.recomputes for cluster in chosen)
    read = {t for cluster in chosen for t in cluster.inputs} | {*plan.egraph.graph.outputs}
    assert {t for cluster in chosen for t in cluster.outputs} <= read
    assert plan.cost_ns < 9_000 + 1_000
