"""Products that become one: adapters of low rank, branches of a block, factors behind them."""

from __future__ import annotations

import math

import pytest

from layoutopt.candidates.saturation import saturate
from layoutopt.ir.graph import Graph, Structured
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.options import Budget, Options
from layoutopt.planning.rules_in_use import rules_in_use
from layoutopt.rules.rewrites import MERGING
from tests.parsing import lifted
from tests.unit.rules.ways import assert_all_ways_agree


def fewest_contractions(graph: Graph) -> float:
    """Contractions at run time that some way to compute the results takes, at least."""
    found = saturate(canonical_form(graph).graph, MERGING).graph

    def needed(tensor: int, above: frozenset[int]) -> float:
        if tensor in found.constants or tensor in found.inputs:
            return 0
        ways = [
            sum(needed(t, above | {tensor}) for t in found.ops[maker].inputs)
            + is_contraction(found, maker)
            for maker in found.producers[tensor]
            if not above & {*found.ops[maker].inputs, tensor}
        ]
        return min(ways, default=math.inf)

    return sum(needed(t, frozenset()) for t in found.outputs)


def is_contraction(graph: Graph, index: int) -> bool:
    op = graph.ops[index]
    return isinstance(op, Structured) and op.is_contraction


def matmul(name: str, x: str, w: str, m: int, k: int, n: int) -> str:
    return f"""
      %e{name} = tensor.empty() : tensor<{m}x{n}xf32>
      %f{name} = linalg.fill ins(%zero : f32) outs(%e{name} : tensor<{m}x{n}xf32>)
          -> tensor<{m}x{n}xf32>
      %{name} = linalg.matmul ins({x}, {w} : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)
          outs(%f{name} : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>"""


def added(name: str, x: str, y: str, kind: str) -> str:
    return f"""
      %e{name} = tensor.empty() : {kind}
      %{name} = linalg.map {{ arith.addf }} ins({x}, {y} : {kind}, {kind})
          outs(%e{name} : {kind})"""


def adapter(weights: str = "dense_resource<{}>") -> Graph:
    """``x . w + 2 (x . a) . b``, as exporters leave an adapter beside its weight."""
    kind = "tensor<4x6xf32>"
    constants = "".join(
        f"%{name} = arith.constant {weights.format(name)} : tensor<{shape}xf32>\n"
        for name, shape in (("w", "8x6"), ("a", "8x2"), ("b", "2x6"))
    )
    return lifted(f"""func.func @main(%x: tensor<4x8xf32>) -> {kind} {{
      %zero = arith.constant 0.0 : f32
      %two = arith.constant 2.0 : f32
      {constants}
      {matmul("own", "%x", "%w", 4, 8, 6)}
      {matmul("down", "%x", "%a", 4, 8, 2)}
      {matmul("up", "%down", "%b", 4, 2, 6)}
      %into = tensor.empty() : {kind}
      %scaled = linalg.map ins(%up : {kind}) outs(%into : {kind}) (%i: f32, %o: f32) {{
        %s = arith.mulf %i, %two : f32
        linalg.yield %s : f32
      }}
      {added("y", "%own", "%scaled", kind)}
      return %y : {kind}
    }}""")


def block(stride: int = 1, dilation: int = 1, shift: int = 0) -> Graph:
    """Convolutions of 3x3 and 1x1 over one image, added up; ``shift`` of where the first begins."""
    out, low, high = 6 // stride, dilation + shift, dilation - shift
    kind, wide = f"tensor<1x4x{out}x{out}xf32>", 6 + 2 * dilation
    padded = f"tensor<1x3x{wide}x{wide}xf32>"
    strides = f"strides = dense<{stride}> : tensor<2xi64>"
    return lifted(f"""func.func @main(%x: tensor<1x3x6x6xf32>) -> {kind} {{
      %zero = arith.constant 0.0 : f32
      %large = arith.constant dense_resource<large> : tensor<4x3x3x3xf32>
      %small = arith.constant dense_resource<small> : tensor<4x3x1x1xf32>
      %pad = tensor.pad %x low[0, 0, {low}, {low}] high[0, 0, {high}, {high}] {{
      ^bb0(%i: index, %j: index, %k: index, %l: index):
        tensor.yield %zero : f32
      }} : tensor<1x3x6x6xf32> to {padded}
      %e = tensor.empty() : {kind}
      %f = linalg.fill ins(%zero : f32) outs(%e : {kind}) -> {kind}
      %a = linalg.conv_2d_nchw_fchw {{{strides}, dilations = dense<{dilation}> : tensor<2xi64>}}
          ins(%pad, %large : {padded}, tensor<4x3x3x3xf32>) outs(%f : {kind}) -> {kind}
      %b = linalg.conv_2d_nchw_fchw {{{strides}}}
          ins(%x, %small : tensor<1x3x6x6xf32>, tensor<4x3x1x1xf32>) outs(%f : {kind}) -> {kind}
      {added("y", "%a", "%b", kind)}
      return %y : {kind}
    }}""")


def test_an_adapter_of_low_rank_becomes_a_part_of_the_weight() -> None:
    assert fewest_contractions(adapter()) == 1
    assert_all_ways_agree(adapter())


@pytest.mark.parametrize(
    ("stride", "dilation", "shift"), [(1, 1, 0), (2, 1, 0), (1, 2, 0), (1, 1, 1), (1, 1, -1)]
)
def test_branches_of_a_block_become_one_convolution(stride: int, dilation: int, shift: int) -> None:
    graph = block(stride, dilation, shift)
    assert fewest_contractions(graph) == 1
    assert_all_ways_agree(canonical_form(graph).graph)


def test_branches_that_read_between_the_elements_of_a_filter_stay_apart() -> None:
    assert fewest_contractions(block(dilation=2, shift=1)) == 2


def test_a_weight_budget_leaves_weights_as_they_are() -> None:
    with_budget = rules_in_use(Options(weight_budget=Budget(1 << 20)))
    assert not {*MERGING} & {*with_budget}
    assert {*MERGING} <= {*rules_in_use(Options())}
