"""Pads as part of the dispatches that read them."""

from dataclasses import replace

import pytest

from layoutopt.candidates.explore import explore
from layoutopt.candidates.form import Form
from layoutopt.ir.graph import Graph, kind_name
from layoutopt.options import Objective
from layoutopt.profiles.target import load_target
from tests.parsing import lifted

HOST = replace(load_target("host"), fuses_pads=True)
X, P, Y, W = (f"tensor<{s}xf32>" for s in ("1x6x6x4", "1x8x8x4", "1x6x6x4", "3x3x4"))
ADD = f"linalg.map {{ arith.addf }} ins(%y, %y : {Y}, {Y}) outs(%e : {Y})"  # behind the convolution


def padded_convolution() -> Graph:
    """A pad, a depthwise convolution and an elementwise op."""
    return lifted(f"""func.func @f(%x: {X}, %w: {W}) -> {Y} {{
      %zero = arith.constant 0.0 : f32
      %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {{
      ^bb0(%a: index, %b: index, %c: index, %d: index): tensor.yield %zero : f32
      }} : {X} to {P}
      %e = tensor.empty() : {Y}
      %f = linalg.fill ins(%zero : f32) outs(%e : {Y}) -> {Y}
      %y = linalg.depthwise_conv_2d_nhwc_hwc ins(%p, %w : {P}, {W}) outs(%f : {Y}) -> {Y}
      %r = {ADD}
      return %r : {Y}
    }}""")


def test_a_pad_may_join_the_convolution_and_what_follows_it() -> None:
    graph = padded_convolution()
    space = explore(graph, HOST)
    regions = [c for c in space.clusters if c.region]
    kinds = [[kind_name(space.egraph.graph.ops[i]) for i in c.ops] for c in regions]
    assert ["pad", "convolution", "elementwise"] in kinds
    whole = regions[kinds.index(["pad", "convolution", "elementwise"])]
    assert (whole.inputs, whole.outputs) == (graph.inputs, graph.outputs)
    assert space.egraph.graph.ops[whole.root] == graph.ops[1]
    assert [c.region for c in space.clusters] == sorted(c.region for c in space.clusters)


def test_only_where_the_target_says_so_and_speed_is_asked_for() -> None:
    graph = padded_convolution()
    without = replace(HOST, fuses_pads=False)
    for space in (explore(graph, without), explore(graph, HOST, Objective.CONVERSIONS)):
        assert not any(c.region for c in space.clusters)


def test_not_where_channels_are_summed_but_where_they_are_copied() -> None:
    graph = lifted(f"""func.func @f(%x: {X}, %w: tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32> {{
      %zero = arith.constant 0.0 : f32
      %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {{
      ^bb0(%a: index, %b: index, %c: index, %d: index): tensor.yield %zero : f32
      }} : {X} to {P}
      %e = tensor.empty() : tensor<1x6x6x8xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
      %y = linalg.conv_2d_nhwc_hwcf ins(%p, %w : {P}, tensor<3x3x4x8xf32>)
        outs(%f : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
      return %y : tensor<1x6x6x8xf32>
    }}""")
    space = explore(graph, HOST)
    ops = space.egraph.graph.ops
    kinds = {tuple(kind_name(ops[i]) for i in c.ops) for c in space.clusters if c.region}
    assert kinds == {("pad", "copy")}


def in_one_dispatch(graph: Graph) -> set[tuple[Form, str]]:
    """How the windowed op of the model is written with the pad inside, and in what layout."""
    space = explore(graph, HOST)
    (source,), root = graph.inputs[:1], graph.ops[1]
    return {
        (way.form, str(way.layout_of(source)))
        for way in space.candidates
        if space.clusters[way.cluster].region
        and space.egraph.graph.ops[space.clusters[way.cluster].root] == root
    }


@pytest.mark.skipif(HOST.registers is None, reason="nothing is known of this processor's vectors")
def test_not_where_the_compiler_would_have_to_pad_vectors() -> None:
    last = in_one_dispatch(padded_convolution())
    assert last, "channels stand innermost as it came"
    assert {form for form, _ in last} == {Form.AS_IT_CAME}, "no schedule"
    assert {layout for _, layout in last} == {"row-major"}, "the image is nowhere innermost"


def padded_pooling(stride: int) -> Graph:
    x, p = "tensor<1x14x14x64xf32>", "tensor<1x16x16x64xf32>"
    y = f"tensor<1x{14 // stride}x{14 // stride}x64xf32>"
    return lifted(f"""func.func @f(%x: {x}, %w: tensor<3x3xf32>) -> {y} {{
      %low = arith.constant 0xFF800000 : f32
      %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {{
      ^bb0(%a: index, %b: index, %c: index, %d: index): tensor.yield %low : f32
      }} : {x} to {p}
      %e = tensor.empty() : {y}
      %f = linalg.fill ins(%low : f32) outs(%e : {y}) -> {y}
      %y = linalg.pooling_nhwc_max {{strides = dense<{stride}> : tensor<2xi64>}}
        ins(%p, %w : {p}, tensor<3x3xf32>) outs(%f : {y}) -> {y}
      return %y : {y}
    }}""")


@pytest.mark.skipif(HOST.registers is None, reason="nothing is known of this processor's vectors")
@pytest.mark.parametrize(("stride", "scheduled"), [(1, False), (2, True)])
def test_not_where_registers_hold_several_pixels(stride: int, scheduled: bool) -> None:
    forms = {form for form, _ in in_one_dispatch(padded_pooling(stride))}
    assert (Form.CHANNELWISE in forms) == scheduled
    assert Form.AS_IT_CAME in forms
