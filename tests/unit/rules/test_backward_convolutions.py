"""Gradients of convolutions as importers write them, and what IREE's own passes get wrong."""

from __future__ import annotations

import pytest

from layoutopt.fold import fold_broadcasts
from layoutopt.graph import Scatter, Structured
from layoutopt.start import start_from_neutral
from tests.parsing import lifted
from tests.torch_graphs import input_gradient, weight_gradient
from tests.unit.rules.ways import assert_all_ways_agree, rules_that_fired

S, B, W, Y = "tensor<2x3x3x4xf32>", "tensor<2x6x6x4xf32>", "tensor<4x5xf32>", "tensor<2x6x6x5xf32>"
D = "(n, h, w, f, c)"


def around(background: str, behind: str, result: str = Y, out_map: str = "(n, h, w, f)") -> str:
    """A 1x1 backward convolution with a background of its own and consumers of its own."""
    made = Y if out_map == "(n, h, w, f)" else "tensor<5x2x6x6xf32>"
    return f"""func.func @f(%x: {S}, %w: {W}, %b: tensor<5xf32>) -> {result} {{
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      {background}
      %s = tensor.insert_slice %x into %bg[0, 0, 1, 0] [2, 3, 3, 4] [1, 2, 2, 1] : {S} into {B}
      %e = tensor.empty() : {made}
      %init = linalg.fill ins(%zero : f32) outs(%e : {made}) -> {made}
      %y = linalg.generic {{indexing_maps = [affine_map<{D} -> (n, h, w, c)>,
          affine_map<{D} -> (c, f)>, affine_map<{D} -> {out_map}>], iterator_types =
          ["parallel", "parallel", "parallel", "parallel", "reduction"]}}
          ins(%s, %w : {B}, {W}) outs(%init : {made}) {{
      ^bb0(%a: f32, %c: f32, %d: f32):
        %m = arith.mulf %a, %c : f32
        %t = arith.addf %d, %m : f32
        linalg.yield %t : f32
      }} -> {made}
      {behind}
      return %r : {result}
    }}"""


SPLAT = f"%bg = arith.constant dense<0.0> : {B}"
FILL = f"%be = tensor.empty() : {B}\n%bg = linalg.fill ins(%zero : f32) outs(%be : {B}) -> {B}"
ONES = f"%bg = arith.constant dense<1.0> : {B}"
BROADCAST = (
    f"%v = arith.constant dense<0.0> : tensor<4xf32>\n%be = tensor.empty() : {B}\n"
    "%bg = linalg.broadcast ins(%v : tensor<4xf32>) "
    f"outs(%be : {B}) dimensions = [0, 1, 2]"
)
PAD = (
    "%v = arith.constant dense<0.0> : tensor<1x6x6x4xf32>\n"
    "%bg = tensor.pad %v low[1, 0, 0, 0] high[0, 0, 0, 0] {\n"
    "^bb0(%i: index, %j: index, %k: index, %l: index):\n"
    f"tensor.yield %zero : f32 }} : tensor<1x6x6x4xf32> to {B}"
)
NOTHING = f"%r = tensor.collapse_shape %y [[0], [1], [2], [3]] : {Y} into {Y}"


def mapped(scalar: str) -> str:
    return (
        f"%oe = tensor.empty() : {Y}\n%r = linalg.map {{ {scalar} }} ins(%y : {Y}) outs(%oe : {Y})"
    )


def add_one(kind: str = Y) -> str:
    dims = "(a, b, c, d)"
    return f"""%oe = tensor.empty() : {kind}
      %r = linalg.generic {{indexing_maps = [affine_map<{dims} -> {dims}>, affine_map<{dims} ->
          {dims}>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
          ins(%y : {kind}) outs(%oe : {kind}) {{
      ^bb0(%a: f32, %d: f32):
        %t = arith.addf %a, %one : f32
        linalg.yield %t : f32
      }} -> {kind}"""


@pytest.mark.parametrize("background", [SPLAT, FILL, BROADCAST, PAD])
def test_any_zero_background(background: str) -> None:
    egraph = assert_all_ways_agree(lifted(around(background, add_one())))
    assert "commute-scatter-with-contraction" in rules_that_fired(egraph)


@pytest.mark.parametrize("behind", [add_one(), mapped("math.cos"), mapped("math.exp")])
def test_a_consumer_that_does_not_map_zero_to_zero(behind: str) -> None:
    egraph = assert_all_ways_agree(lifted(around(FILL, behind)))
    assert "push-scatter-through-elementwise" in rules_that_fired(egraph)


def test_the_background_becomes_its_image() -> None:
    egraph = assert_all_ways_agree(lifted(around(FILL, add_one())))
    images = [op.background for op in egraph.graph.ops if isinstance(op, Scatter)]
    assert "1.0 : f32" in images


def test_a_background_that_is_not_zero_is_refused() -> None:
    egraph = assert_all_ways_agree(lifted(around(ONES, add_one())))
    assert "commute-scatter-with-contraction" not in rules_that_fired(egraph)
    reasons = [r.reason for r in egraph.refusals]
    assert any(r.startswith("expected a zero background, but got 1.0") for r in reasons)


def test_a_permuted_result() -> None:
    kind = "tensor<5x2x6x6xf32>"
    text = around(SPLAT, add_one(kind), kind, "(f, n, h, w)")
    egraph = assert_all_ways_agree(lifted(text))
    (made,) = [
        op
        for op, rules in zip(egraph.graph.ops, egraph.rule, strict=True)
        if isinstance(op, Scatter) and rules == ("commute-scatter-with-contraction",)
    ]
    assert made.strides == (1, 1, 2, 2)
    assert made.offsets == ((0, 0, 0, 1),)


def test_several_users_of_the_scattered_tensor() -> None:
    behind = (
        f"%oe = tensor.empty() : {B}\n"
        f"%q = linalg.map {{ math.cos }} ins(%s : {B}) outs(%oe : {B})\n"
        f"%ye = tensor.empty() : {Y}\n%z = linalg.fill ins(%zero : f32) outs(%ye : {Y}) -> {Y}\n"
        f"%r = linalg.generic {{indexing_maps = [affine_map<{D} -> (n, h, w, c)>, "
        f"affine_map<{D} -> (c, f)>, affine_map<{D} -> (n, h, w, f)>], iterator_types = "
        '["parallel", "parallel", "parallel", "parallel", "reduction"]} '
        f"ins(%q, %w : {B}, {W}) outs(%y : {Y}) {{\n"
        "^bb0(%a: f32, %c: f32, %d: f32):\n%m = arith.mulf %a, %c : f32\n"
        f"%t = arith.addf %d, %m : f32\nlinalg.yield %t : f32 }} -> {Y}"
    )
    egraph = assert_all_ways_agree(lifted(around(SPLAT, behind)))
    assert "commute-scatter-with-contraction" in rules_that_fired(egraph)


@pytest.mark.parametrize(
    ("small", "taps", "stride", "padding", "dilation", "groups", "more"),
    [
        ([4], 3, 2, 1, 1, 1, 0),
        ([4], 4, 3, 1, 1, 1, 1),
        ([3, 4], 3, 2, 1, 1, 1, 1),
        ([3, 3], 5, 3, 2, 1, 1, 0),
        ([3, 3], 3, 2, 2, 2, 1, 0),
        ([3, 3], 3, 2, 1, 1, 2, 1),
        ([2, 3, 2], 3, 2, 1, 1, 1, 0),
    ],
)
def test_input_gradients_of_torch(
    small: list[int], taps: int, stride: int, padding: int, dilation: int, groups: int, more: int
) -> None:
    text = input_gradient(small, taps, stride, padding, dilation, groups, more)
    graph = fold_broadcasts(start_from_neutral(lifted(text)))
    egraph = assert_all_ways_agree(graph)
    assert "split-convolution-into-phases" in rules_that_fired(egraph)


def test_a_one_by_one_input_gradient_of_torch() -> None:
    egraph = assert_all_ways_agree(lifted(input_gradient([3, 3], 1, 2, 0)))
    assert "commute-scatter-with-contraction" in rules_that_fired(egraph)


@pytest.mark.parametrize("small", [[4], [3, 2], [2, 2, 2]])
@pytest.mark.parametrize("stuffed", [False, True])
def test_weight_gradients_of_torch(small: list[int], stuffed: bool) -> None:
    egraph = assert_all_ways_agree(lifted(weight_gradient(small, 3, 2, stuffed=stuffed)))
    assert ("skip-zeros-of-reduction" in rules_that_fired(egraph)) == stuffed


def test_a_phase_does_not_multiply_zeros() -> None:
    """Multiplications drop from 9 to 9 / 4 per output of a 3x3 filter at stride 2."""
    egraph = assert_all_ways_agree(lifted(input_gradient([4, 4], 3, 2, 1, output_padding=1)))
    work: dict[tuple[str, ...], int] = {}
    for op, rules in zip(egraph.graph.ops, egraph.rule, strict=True):
        if isinstance(op, Structured) and op.is_contraction and len(rules) < 2:
            points = 1
            for n in op.domain:
                points *= n
            work[rules] = work.get(rules, 0) + points
    assert work[()] == 4 * work["split-convolution-into-phases",]
