"""Constants and globals."""

import pytest

from layoutopt.ir.graph import (
    Constant,
    Fill,
    FromTensor,
    Opaque,
    Structured,
)
from layoutopt.ir.types import TensorType
from tests.parsing import lifted


def test_weights_of_every_kind_are_constants() -> None:
    kind = "tensor<2xf32>"
    text = f"""
    util.global private @parameter = #stream.parameter.named<"scope"::"key"> : {kind}
    util.global private mutable @state : {kind}
    util.func public @f() -> ({kind}, {kind}, {kind}, {kind}) {{
      %a = arith.constant dense<[1.0, 2.0]> : {kind}
      %b = arith.constant dense_resource<w> : {kind}
      %c = util.global.load @parameter : {kind}
      %d = util.global.load @state : {kind}
      util.return %a, %b, %c, %d : {kind}, {kind}, {kind}, {kind}
    }}
    {{-# dialect_resources: {{ builtin: {{ w: "0x040000000000803F00000040" }} }} #-}}"""
    graph = lifted(text)
    assert graph.ops[:3] == (Constant(0), Constant(1), Constant(2))
    assert isinstance(graph.ops[3], Opaque)
    assert graph.types == (TensorType((2,), "f32"),) * 4


@pytest.mark.parametrize("load", ["util.global.load", "ml_program.global_load"])
def test_a_splat_in_a_global_is_a_fill(load: str) -> None:
    graph = lifted(_starting_from_a_global("private", load))
    (op,) = (op for op in graph.ops if isinstance(op, Structured))
    assert op.inits == (Fill("2.000000e+00 : f32"),)


def test_a_mutable_global_is_never_looked_through() -> None:
    graph = lifted(_starting_from_a_global("private mutable", "util.global.load"))
    assert isinstance(graph.ops[0], Opaque)
    (op,) = (op for op in graph.ops if isinstance(op, Structured))
    assert op.inits == (FromTensor(graph.ops[0].results[0]),)


def test_a_global_that_an_initializer_stores_holds_what_it_stores() -> None:
    store = """util.initializer {
      %c = arith.constant dense<[1.0, 3.0]> : tensor<2xf32>
      util.global.store %c, @w : tensor<2xf32>
      util.return
    }"""
    graph = lifted(store + _starting_from_a_global("private", "util.global.load"))
    (op,) = (op for op in graph.ops if isinstance(op, Structured))
    assert op.inits == (FromTensor(1),)
    assert graph.ops[0] == Constant(1)


def _starting_from_a_global(visibility: str, load: str) -> str:
    held = {
        "util.global.load": f"util.global {visibility} @w = dense<2.0> : tensor<2xf32>",
        "ml_program.global_load": f"ml_program.global {visibility} @w(dense<2.0> : tensor<2xf32>) "
        ": tensor<2xf32>",
    }[load]
    return f"""{held}
    func.func @f(%x: tensor<3x2xf32>) -> tensor<2xf32> {{
      %c = {load} @w : tensor<2xf32>
      %r = linalg.reduce ins(%x : tensor<3x2xf32>) outs(%c : tensor<2xf32>) dimensions = [0]
        (%a: f32, %b: f32) {{
          %q = arith.addf %a, %b : f32
          linalg.yield %q : f32
        }}
      return %r : tensor<2xf32>
    }}"""


def test_constants_of_complex_numbers_are_constants_as_others() -> None:
    """The bindings cannot hold their values, which are not needed."""
    graph = lifted("""
    #m = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      %c = arith.constant dense<(1.0,2.0)> : tensor<4xcomplex<f32>>
      %e = tensor.empty() : tensor<4xcomplex<f32>>
      %y = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel"]}
          ins(%x, %c : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>)
          outs(%e : tensor<4xcomplex<f32>>) {
      ^bb0(%a: complex<f32>, %k: complex<f32>, %b: complex<f32>):
        %q = complex.add %a, %k : complex<f32>
        linalg.yield %q : complex<f32>
      } -> tensor<4xcomplex<f32>>
      return %y : tensor<4xcomplex<f32>>
    }""")
    assert graph.constants == {1}
    assert graph.types[1].element == "complex<f32>"
