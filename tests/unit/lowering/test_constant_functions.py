"""Functions of constants alone: what they compute is written once."""

from __future__ import annotations

from layoutopt.ir.graph import Concat, Slice
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from tests.parsing import lifted, verified
from tests.planning import setting

HOST = load_target("host")
DEQUANTIZED = """
  %{name}e = tensor.empty() : tensor<4x4xf32>
  %{name} = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%c : tensor<4x4xi8>) outs(%{name}e : tensor<4x4xf32>) {{
    ^bb0(%q: i8, %o: f32):
      %w = arith.extsi %q : i8 to i32
      %d = arith.subi %w, %point : i32
      %f = arith.sitofp %d : i32 to f32
      %r = arith.mulf %f, %scale : f32
      linalg.yield %r : f32
  }} -> tensor<4x4xf32>
"""
MODEL = f"""
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {{
  %c = arith.constant dense<2> : tensor<4x4xi8>
  %point = arith.constant 0 : i32
  %scale = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  {DEQUANTIZED.format(name="a")}
  {DEQUANTIZED.format(name="b")}
  %e = tensor.empty() : tensor<4x4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%i : tensor<4x4xf32>)
    -> tensor<4x4xf32>
  %z = linalg.matmul ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%i : tensor<4x4xf32>)
    -> tensor<4x4xf32>
  return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
}}
"""


def test_a_constant_that_normalization_computes_otherwise_is_made_once() -> None:
    graph = lifted(MODEL)
    plan = plan_graph(graph, setting(HOST, Analytic(HOST)))
    lowered = plan.lowered()
    for weight in lowered.hoisted:
        made = [t for op in weight.graph.ops for t in op.outputs]
        assert len(made) == len(set(made))
        assert verified(weight.graph)
    made = [t for op in lowered.graph.ops for t in op.outputs]
    assert len(made) == len(set(made))


def test_weights_that_are_put_together_are_so_ahead_of_time() -> None:
    """IREE would copy the parts in every turn of a loop."""
    graph = lifted("""func.func @main(%x: tensor<1x4xf32>) -> tensor<1x6xf32> {
      %c = arith.constant dense_resource<w> : tensor<4x6xf32>
      %a = tensor.extract_slice %c[0, 0] [4, 2] [1, 1] : tensor<4x6xf32> to tensor<4x2xf32>
      %b = tensor.extract_slice %c[0, 2] [4, 4] [1, 1] : tensor<4x6xf32> to tensor<4x4xf32>
      %w = tensor.concat dim(1) %b, %a : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<1x6xf32>
      %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x6xf32>) -> tensor<1x6xf32>
      %y = linalg.matmul ins(%x, %w : tensor<1x4xf32>, tensor<4x6xf32>)
          outs(%i : tensor<1x6xf32>) -> tensor<1x6xf32>
      return %y : tensor<1x6xf32>
    }""")
    lowered = plan_graph(graph, setting(HOST, Analytic(HOST))).lowered()
    (weight,) = lowered.hoisted
    assert any(isinstance(op, Concat) for op in weight.graph.ops)
    assert not any(isinstance(op, Concat | Slice) for op in lowered.graph.ops)
