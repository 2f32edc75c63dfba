"""Pads inside the dispatches that read them, as IREE compiles and runs them."""

from __future__ import annotations

from pathlib import Path

from layoutopt.mlir.module import parse_module
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Analytic
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.target import Target, load_target
from layoutopt.runtime.compile import Phase, compile_to
from tests.parameters import FLAGS
from tests.planning import setting
from tests.running import assert_same_results

MODEL = """
func.func @main(%x: tensor<1x13x13x8xf32>, %w: tensor<3x3x8xf32>) -> tensor<1x4x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %px = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index): tensor.yield %low : f32
  } : tensor<1x13x13x8xf32> to tensor<1x15x15x8xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %e0 = tensor.empty() : tensor<1x7x7x8xf32>
  %f0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<1x7x7x8xf32>) -> tensor<1x7x7x8xf32>
  %pooled = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>}
    ins(%px, %window : tensor<1x15x15x8xf32>, tensor<3x3xf32>)
    outs(%f0 : tensor<1x7x7x8xf32>) -> tensor<1x7x7x8xf32>
  %py = tensor.pad %pooled low[0, 0, 1, 0] high[0, 2, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index): tensor.yield %zero : f32
  } : tensor<1x7x7x8xf32> to tensor<1x9x9x8xf32>
  %e1 = tensor.empty() : tensor<1x4x4x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %y = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<2> : tensor<2xi64>}
    ins(%py, %w : tensor<1x9x9x8xf32>, tensor<3x3x8xf32>)
    outs(%f1 : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %r = linalg.map { arith.maximumf } ins(%y, %f1 : tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>)
    outs(%e1 : tensor<1x4x4x8xf32>)
  return %r : tensor<1x4x4x8xf32>
}
"""


class Sure(Analytic):
    """Estimates that pass for measurements: regions are taken only where they were measured."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.source = PriceSource.MEASURED


def test_one_dispatch_each_with_the_same_results(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(MODEL, encoding="utf-8")
    module = parse_module(tmp_path / "model.mlir")
    target = load_target("host")
    plan = plan_graph(module.graphs[0], setting(target, Sure(target)))
    guess = plan_graph(module.graphs[0], setting(target, Analytic(target)))
    assert not any(guess.clusters[c.cluster].region for c in guess.choice.candidates)
    module.replace(0, plan.lowered())
    module.write(tmp_path / "plan.mlir", FLAGS)
    assert (tmp_path / "plan.mlir").read_text().count("flow.dispatch.region") == 2
    flow = compile_to(tmp_path / "plan.mlir", Phase.FLOW, tmp_path / "flow.mlir", FLAGS, 300)
    assert flow.ok, flow.reason
    assert (tmp_path / "flow.mlir").read_text().count("= flow.dispatch @") == 2
    assert_same_results(tmp_path / "model.mlir", tmp_path / "plan.mlir")
