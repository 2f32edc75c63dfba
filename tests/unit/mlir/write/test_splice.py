"""A plan that changes nothing goes back in place: effects, weights and meaning stay."""

from dataclasses import replace
from pathlib import Path

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import IteratorType, Structured, Uninitialized
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.scalar import fill_body
from layoutopt.mlir.module import parse_module
from tests.splicing import spliced, unchanged

X = "tensor<1x4x4x2xf32>"
Y = "tensor<1x2x2x2xf32>"
TEXT = f"""
util.global private @parameter = #stream.parameter.named<"scope"::"key"> : tensor<2x2xf32>
func.func private @effect(tensor<2x2xf32>) -> tensor<2x2xf32>
func.func @model(%x: tensor<2x2xf32>, %image: {X}) -> (tensor<2x2xf32>, {Y}) {{
  %resource = arith.constant dense_resource<w> : tensor<2x2xf32>
  %zero = arith.constant dense<0.0> : tensor<2x2xf32>
  %load = util.global.load @parameter : tensor<2x2xf32>
  %a = linalg.matmul ins(%x, %resource : tensor<2x2xf32>, tensor<2x2xf32>)
    outs(%zero : tensor<2x2xf32>) -> tensor<2x2xf32>
  %first = func.call @effect(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %low = arith.constant dense<0xFF800000> : {Y}
  %window = tensor.empty() : tensor<2x2xf32>
  %pool = linalg.pooling_nhwc_max {{strides = dense<2> : tensor<2xi64>}}
    ins(%image, %window : {X}, tensor<2x2xf32>) outs(%low : {Y}) -> {Y}
  %b = linalg.matmul ins(%first, %load : tensor<2x2xf32>, tensor<2x2xf32>)
    outs(%zero : tensor<2x2xf32>) -> tensor<2x2xf32>
  %second = func.call @effect(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %c = linalg.map {{ arith.addf }} ins(%b, %second : tensor<2x2xf32>, tensor<2x2xf32>)
    outs(%zero : tensor<2x2xf32>)
  return %c, %pool : tensor<2x2xf32>, {Y}
}}
{{-# dialect_resources: {{ builtin: {{ w: "0x040000000000803F000000400000803F00000040" }} }} #-}}
"""


def test_effects_keep_their_order_and_weights_their_attributes(tmp_path: Path) -> None:
    module = spliced(tmp_path, TEXT)
    text = str(module.operation)
    model = text[text.index("@model") :]
    steps = ["linalg.matmul", "call @effect", "linalg.matmul", "call @effect", "linalg.generic"]
    lines = [next((s for s in steps if s in line), None) for line in model.splitlines()]
    assert [s for s in lines if s is not None] == steps
    assert model.count("linalg.pooling_nhwc_max") == 1
    assert model.count("dense_resource<w>") == 1
    assert '= #stream.parameter.named<"scope"::"key">' in text
    assert "util.global.load @parameter" in model
    assert 'w: "0x040000000000803F000000400000803F00000040"' in text


def test_a_window_that_a_call_precedes_is_defined_before_its_use(tmp_path: Path) -> None:
    """``tensor.empty`` stays behind the call; what reads it must not move before that."""
    text = str(spliced(tmp_path, TEXT).operation)
    assert text.index("tensor.empty() : tensor<2x2xf32>") < text.index("linalg.pooling_nhwc_max")


def test_a_tensor_that_is_returned_as_it_came_stays(tmp_path: Path) -> None:
    text = """
    func.func @model(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %e = tensor.empty() : tensor<2xf32>
      %y = linalg.map { math.exp } ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>)
      return %x, %y : tensor<2xf32>, tensor<2xf32>
    }"""
    found = str(spliced(tmp_path, text).operation)
    assert "return %arg0, %" in found
    assert found.count("linalg.generic") == 1


def test_an_empty_window_that_is_no_longer_read_goes(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    module = parse_module(path)
    (graph,) = module.graphs
    plan = unchanged(graph)
    (pool,) = (
        op
        for op in plan.graph.ops
        if isinstance(op, Structured) and not op.is_contraction and op.reduction_dims
    )
    gone = Structured(
        (),
        (Uninitialized(),),
        pool.results,
        graph.types[pool.results[0]].shape,
        (IteratorType.PARALLEL,) * 4,
        (identity_map(4),),
        fill_body("1.0 : f32", "f32"),
    )
    ops = tuple(gone if op is pool else op for op in plan.graph.ops)
    given = {t: t for t in plan.inputs if t not in pool.sources[1:]}
    changed = replace(plan.graph, ops=ops, inputs=tuple(given))
    module.replace(0, Lowered(changed, given, plan.outputs, ()))
    assert module.operation.verify()
    assert "pooling" not in str(module.operation)
