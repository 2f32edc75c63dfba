"""Elements that a body extracts by a linear index are inputs of the op."""

import numpy as np

from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import Opaque, Structured
from layoutopt.oracle import evaluate
from tests.parsing import lifted, through_text
from tests.property.layouts import small_integers

W = "tensor<3x3x4x5xf32>"
OUT = "tensor<3x3x5x4xf32>"


def flipped(first: str = "%c2", index: str = "arith.subi %c2, %j : index") -> str:
    return f"""func.func @f(%w: {W}) -> {OUT} {{
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %e = tensor.empty() : {OUT}
      %r = linalg.generic {{indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>],
          iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} outs(%e : {OUT}) {{
      ^bb0(%o: f32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %k = linalg.index 2 : index
        %l = linalg.index 3 : index
        %p = arith.subi {first}, %i : index
        %q = {index}
        %x = tensor.extract %w[%p, %q, %l, %k] : {W}
        linalg.yield %x : f32
      }} -> {OUT}
      return %r : {OUT}
    }}"""


def test_a_filter_flip_is_a_copy_that_reads_backwards() -> None:
    graph = lifted(flipped())
    (op,) = graph.ops
    assert isinstance(op, Structured)
    assert op.is_copy
    w = small_integers(graph.types[0], 1)
    found = evaluate(graph, {graph.inputs[0]: w})[graph.outputs[0]]
    assert np.array_equal(found, w[::-1, ::-1].transpose(0, 1, 3, 2))


def test_a_filter_flip_survives_writing_and_reading() -> None:
    graph = lifted(flipped())
    assert through_text(graph).ops == graph.ops


def test_a_read_outside_the_tensor_is_left_alone() -> None:
    op = lifted(flipped(first="%c3")).ops[-1]
    assert isinstance(op, Opaque)
    assert op.reason == "expected reads inside the tensor, but dim 0 reads 1 to 3"


def test_an_index_that_is_not_linear_is_a_read_at_a_computed_place() -> None:
    graph = lifted(flipped(index="arith.remsi %j, %c2 : index"))
    assert isinstance(graph.ops[-1], ComputedReads)
    assert through_text(graph).ops == graph.ops


def test_the_flip_of_a_constant_is_a_constant() -> None:
    text = (
        flipped()
        .replace("%w: " + W, "")
        .replace("%c2 = ", f"%w = arith.constant dense_resource<w> : {W}\n%c2 = ", 1)
    )
    graph = lifted(text)
    assert graph.outputs[0] in graph.constants
