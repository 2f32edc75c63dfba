from collections import Counter

import pytest

from layoutopt.candidates.egraph import SaturationStop
from layoutopt.candidates.saturation import Limits, saturate
from layoutopt.ir.graph import Constant, Graph, Reshape, Slice, Structured
from layoutopt.rules.rewrites.examples import convolution_example
from tests.parsing import lifted


def test_three_rules_in_a_row() -> None:
    """Strided 1x1 convolution -> slice + 1x1 convolution -> slice + matmul."""
    egraph = saturate(convolution_example(filter_size=1, stride=2))
    assert egraph.stop_reason is SaturationStop.SATURATED
    assert egraph.original_ops == 1
    assert [type(op) for op in egraph.graph.ops] == [Structured, Slice, Structured, Structured]
    assert egraph.rule == (
        (),
        ("strided-unit-filter-to-slice",),
        ("strided-unit-filter-to-slice",),
        ("strided-unit-filter-to-slice", "unit-filter-to-contraction"),
    )
    assert egraph.canonicalized == {2}
    reasons = {(r.op, r.rule): r.reason for r in egraph.refusals}
    assert reasons[0, "unit-filter-to-contraction"] == "expected stride 1, but got 2"


def test_patches_and_windows_are_both_kept() -> None:
    egraph = saturate(convolution_example(filter_size=2, stride=2))
    assert [type(op) for op in egraph.graph.ops] == [Structured, Reshape, *[Structured] * 3]
    assert len(egraph.graph.producers[2]) == 3
    assert not egraph.canonicalized


def test_the_limit_is_reported() -> None:
    egraph = saturate(convolution_example(filter_size=2, stride=2), limits=Limits(ops=0))
    assert egraph.stop_reason is SaturationStop.OP_LIMIT
    assert len(egraph.graph.ops) == 1
    few = Limits(tries=0, tries_per_op=0)
    egraph = saturate(convolution_example(filter_size=2, stride=2), limits=few)
    assert egraph.stop_reason is SaturationStop.MATCH_LIMIT


def test_new_ops_carry_the_name_of_their_origin() -> None:
    named = convolution_example(filter_size=1, stride=1)
    plain = Graph(named.types, named.ops, named.inputs, named.outputs)
    assert saturate(plain).graph.names == ("convolution.0", "convolution.0")
    assert saturate(named).graph.names == ("convolution.0", "convolution.0")


def test_what_constants_compute_is_left_alone() -> None:
    graph = convolution_example(filter_size=1, stride=1)
    folded = Graph(graph.types, (Constant(0), Constant(1), *graph.ops), (), graph.outputs)
    assert len(saturate(folded).graph.ops) == 3


def branches(count: int) -> str:
    """Matmuls of one tensor with weights of their own, each with an activation behind it."""
    kind = "tensor<4x8xf32>"
    same = "affine_map<(i, j) -> (i, j)>"
    ops = "".join(
        f"""
      %w{n} = arith.constant dense_resource<w{n}> : tensor<8x8xf32>
      %m{n} = linalg.matmul ins(%x, %w{n} : {kind}, tensor<8x8xf32>) outs(%f : {kind}) -> {kind}
      %y{n} = linalg.generic {{indexing_maps = [{same}, {same}],
          iterator_types = ["parallel", "parallel"]}} ins(%m{n} : {kind}) outs(%e : {kind}) {{
        ^bb0(%a: f32, %b: f32):
          %r = arith.maximumf %a, %zero : f32
          linalg.yield %r : f32 }} -> {kind}"""
        for n in range(count)
    )
    results = ", ".join(f"%y{n}" for n in range(count))
    kinds = ", ".join([kind] * count)
    return f"""func.func @f(%x: {kind}) -> ({kinds}) {{
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : {kind}
      %f = linalg.fill ins(%zero : f32) outs(%e : {kind}) -> {kind}{ops}
      return {results} : {kinds} }}"""


@pytest.mark.parametrize("count", [2, 4])
def test_rules_that_undo_each_other_come_to_an_end(count: int) -> None:
    """Merging ops behind slices, and slicing before an op: over the slices that are there."""
    egraph = saturate(lifted(branches(count)))
    assert egraph.stop_reason is SaturationStop.SATURATED
    made = Counter(" + ".join(names) for names in egraph.rule)
    assert any("merge-siblings" in name for name in made)
    assert all(name.count("merge-siblings") <= 2 for name in made)
    slices = [
        (op.source, op.offsets, egraph.graph.types[op.result].shape)
        for op in egraph.graph.ops
        if isinstance(op, Slice)
    ]
    assert len({*slices}) == len(slices)


def test_ops_behind_merged_ones_are_merged_where_their_constants_are_slices() -> None:
    """The biases of the gates of a recurrent cell are parts of one constant."""
    same = "affine_map<(i, j) -> (i, j)>"
    ops = "".join(
        f"""
      %w{n} = arith.constant dense_resource<w{n}> : tensor<8x8xf32>
      %b{n} = tensor.extract_slice %c[{8 * n}] [8] [1] : tensor<16xf32> to tensor<8xf32>
      %m{n} = linalg.matmul ins(%x, %w{n} : tensor<1x8xf32>, tensor<8x8xf32>)
          outs(%f : tensor<1x8xf32>) -> tensor<1x8xf32>
      %y{n} = linalg.generic {{indexing_maps = [{same}, affine_map<(i, j) -> (j)>, {same}],
          iterator_types = ["parallel", "parallel"]}}
          ins(%m{n}, %b{n} : tensor<1x8xf32>, tensor<8xf32>) outs(%e : tensor<1x8xf32>) {{
        ^bb0(%a: f32, %b: f32, %o: f32):
          %r = arith.addf %a, %b : f32
          linalg.yield %r : f32 }} -> tensor<1x8xf32>"""
        for n in range(2)
    )
    text = f"""func.func @f(%x: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {{
      %zero = arith.constant 0.0 : f32
      %c = arith.constant dense_resource<c> : tensor<16xf32>
      %e = tensor.empty() : tensor<1x8xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8xf32>) -> tensor<1x8xf32>{ops}
      return %y0, %y1 : tensor<1x8xf32>, tensor<1x8xf32> }}"""
    egraph = saturate(lifted(text))
    assert egraph.stop_reason is SaturationStop.SATURATED
    wide = [op for op in egraph.graph.ops if isinstance(op, Structured) and 16 in op.domain]
    assert [op.is_contraction for op in wide] == [True, False]
