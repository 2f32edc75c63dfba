"""Constant inits are read as inputs instead."""

import numpy as np
import pytest

from layoutopt.ir.graph import Constant, Fill, FromTensor, Graph, Structured
from layoutopt.ir.neutral import neutral
from layoutopt.ir.scalar import ScalarOp
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from layoutopt.oracle.constant import constant
from layoutopt.oracle.scalar import apply
from tests.parsing import lifted
from tests.property.layouts import small_integers

COMBINERS = {
    "f32": ["addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"],
    "f16": ["addf", "mulf", "maximumf", "minimumf"],
    "bf16": ["addf", "mulf", "maximumf", "minimumf"],
    "f64": ["addf", "maximumf", "minimumf"],
    "i32": ["addi", "muli", "maxsi", "minsi", "andi", "ori", "xori"],
    "i8": ["addi", "maxsi", "minsi", "andi"],
    "i1": ["andi", "ori"],
}
CASES = [(element, name) for element, names in COMBINERS.items() for name in names]


def reduction(element: str, combiner: str, where: str = "inline") -> Graph:
    """A column-wise reduction whose init is a constant that is not a splat."""
    start = {
        "inline": "%c = arith.constant dense_resource<w> : tensor<3xELEMENT>",
        "util": "%c = util.global.load @w : tensor<3xELEMENT>",
        "ml_program": "%c = ml_program.global_load_const @w : tensor<3xELEMENT>",
    }[where]
    held = {
        "inline": "",
        "util": 'util.global private @w = #stream.parameter.named<"s"::"w"> : tensor<3xELEMENT>',
        "ml_program": "ml_program.global private @w(dense<[1.0, 2.0, 3.0]> : tensor<3xELEMENT>) "
        ": tensor<3xELEMENT>",
    }[where]
    text = f"""{held}
    func.func @f(%x: tensor<4x3xELEMENT>) -> tensor<3xELEMENT> {{
      {start}
      %r = linalg.reduce ins(%x : tensor<4x3xELEMENT>) outs(%c : tensor<3xELEMENT>)
        dimensions = [0] (%a: ELEMENT, %b: ELEMENT) {{
          %q = arith.{combiner} %a, %b : ELEMENT
          linalg.yield %q : ELEMENT
        }}
      return %r : tensor<3xELEMENT>
    }}"""
    return lifted(text.replace("ELEMENT", element))


def assert_same_without_constant_inits(graph: Graph) -> None:
    changed = canonical_form(graph).graph
    for op in changed.ops:
        if isinstance(op, Structured):
            assert not any(
                isinstance(i, FromTensor) and i.tensor in changed.constants for i in op.inits
            )
    leaves = [*graph.inputs, *(op.result for op in graph.ops if isinstance(op, Constant))]
    values = {t: small_integers(graph.types[t], t) for t in leaves}
    here, there = evaluate(graph, values), evaluate(changed, values)
    for t in graph.outputs:
        assert np.array_equal(here[t], there[t])


@pytest.mark.parametrize(("element", "combiner"), CASES)
def test_a_reduction_starts_from_its_neutral_element(element: str, combiner: str) -> None:
    assert_same_without_constant_inits(reduction(element, combiner))


@pytest.mark.parametrize(("element", "combiner"), CASES)
def test_the_neutral_element_changes_nothing(element: str, combiner: str) -> None:
    text = neutral(f"arith.{combiner}", element)
    assert text is not None
    value = constant(text, element)
    assert value is not None
    numbers = [0, 1] if element == "i1" else [-3, 0, 2]
    for number in numbers:
        other = np.asarray(number).astype(value.dtype)
        assert apply(ScalarOp(f"arith.{combiner}", (0, 1), element), [value, other]) == other


@pytest.mark.parametrize("where", ["util", "ml_program"])
def test_globals_are_looked_through(where: str) -> None:
    assert_same_without_constant_inits(reduction("f32", "addf", where))


def test_a_subtraction_has_no_neutral_element_and_stays() -> None:
    assert neutral("arith.subf", "f32") is None
    graph = reduction("f32", "subf")
    assert canonical_form(graph).graph.ops == graph.ops


def test_an_elementwise_op_reads_what_it_wrote_over() -> None:
    text = """func.func @f(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
      %c = arith.constant dense_resource<w> : tensor<4x3xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
          affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<4x3xf32>) outs(%c : tensor<4x3xf32>) {
      ^bb0(%a: f32, %b: f32):
        %p = arith.mulf %a, %a : f32
        %q = arith.subf %b, %p : f32
        linalg.yield %q : f32
      } -> tensor<4x3xf32>
      return %r : tensor<4x3xf32>
    }"""
    assert_same_without_constant_inits(lifted(text))


def test_a_bias_is_added_behind_a_contraction() -> None:
    text = """func.func @f(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>) -> tensor<4x5xf32> {
      %c = arith.constant dense_resource<w> : tensor<4x5xf32>
      %r = linalg.matmul ins(%x, %w : tensor<4x3xf32>, tensor<3x5xf32>)
        outs(%c : tensor<4x5xf32>) -> tensor<4x5xf32>
      return %r : tensor<4x5xf32>
    }"""
    assert_same_without_constant_inits(lifted(text))


@pytest.mark.parametrize("body", ["arith.addf %a, %b", "arith.subf %b, %a"])
def test_a_splat_behind_a_reshape_is_a_fill(body: str) -> None:
    graph = lifted(f"""func.func @f(%x: tensor<4x6xf32>) -> tensor<6xf32> {{
      %c = arith.constant dense<2.0> : tensor<2x3xf32>
      %s = tensor.collapse_shape %c [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
      %r = linalg.reduce ins(%x : tensor<4x6xf32>) outs(%s : tensor<6xf32>) dimensions = [0]
        (%a: f32, %b: f32) {{
          %q = {body} : f32
          linalg.yield %q : f32
        }}
      return %r : tensor<6xf32>
    }}""")
    (op,) = (op for op in canonical_form(graph).graph.ops if isinstance(op, Structured))
    assert op.inits == (Fill("2.000000e+00 : f32"),)

    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    values |= {
        op.result: np.full(graph.types[op.result].shape, 2, np.float32)
        for op in graph.ops
        if isinstance(op, Constant)
    }
    here, there = evaluate(graph, values), evaluate(canonical_form(graph).graph, values)
    assert np.array_equal(here[graph.outputs[0]], there[graph.outputs[0]])
