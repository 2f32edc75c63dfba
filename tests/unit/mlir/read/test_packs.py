"""Packs and unpacks are lifted as ops of the graph."""

from __future__ import annotations

from random import Random

import numpy as np

from layoutopt.ir.graph import Insert, Opaque, Pack, Unpack
from layoutopt.ir.layout import Layout
from layoutopt.oracle import evaluate
from tests.parsing import lifted
from tests.property.rules.equivalence import leaves

ROUND_TRIP = """
func.func @f(%x: tensor<13x20xf32>VALUE) -> tensor<13x20xf32> {
  SCALAR
  %e = tensor.empty() : tensor<3x2x8x8xf32>
  %o = tensor.empty() : tensor<13x20xf32>
  %p = linalg.pack %x padding_value(%v : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0]
      inner_tiles = [8, 8] into %e : tensor<13x20xf32> -> tensor<3x2x8x8xf32>
  %u = linalg.unpack %p outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, 8]
      into %o : tensor<3x2x8x8xf32> -> tensor<13x20xf32>
  return %u : tensor<13x20xf32>
}
"""
LAYOUT = Layout((1, 0), (1, 0), (8, 8))


def round_trip(scalar: str, value: str = "") -> str:
    return ROUND_TRIP.replace("SCALAR", scalar).replace("VALUE", value)


def test_a_pack_has_its_layout_and_padding() -> None:
    pack, unpack = lifted(round_trip("%v = arith.constant 2.0 : f32")).ops
    assert pack == Pack(0, 1, LAYOUT, "2.000000e+00 : f32")
    assert unpack == Unpack(1, 2, LAYOUT)


def test_poison_is_taken_for_zero() -> None:
    graph = lifted(round_trip("%v = ub.poison : f32"))
    assert graph.ops[0] == Pack(0, 1, LAYOUT, "0.0 : f32")
    assert not any(isinstance(op, Opaque) for op in graph.ops)


def test_padding_that_is_computed_is_put_there_first() -> None:
    graph = lifted(round_trip("", ", %v: f32"))
    assert [type(op) for op in graph.ops][-3:] == [Insert, Pack, Unpack]
    pack = graph.ops[-2]
    assert isinstance(pack, Pack)
    assert pack.padding is None
    values = evaluate(graph, leaves(graph, Random(0)))
    assert np.array_equal(values[graph.outputs[0]], values[graph.inputs[0]])


def test_padding_that_is_not_needed_is_left_out() -> None:
    graph = lifted("""
func.func @f(%x: tensor<16x8xf32>, %e: tensor<2x1x8x8xf32>) -> tensor<2x1x8x8xf32> {
  %v = arith.constant 2.0 : f32
  %p = linalg.pack %x padding_value(%v : f32) inner_dims_pos = [0, 1] inner_tiles = [8, 8]
      into %e : tensor<16x8xf32> -> tensor<2x1x8x8xf32>
  return %p : tensor<2x1x8x8xf32>
}
""")
    (pack,) = graph.ops
    assert isinstance(pack, Pack)
    assert pack.padding is None


def test_tiles_that_are_computed_stay() -> None:
    graph = lifted("""
func.func @f(%x: tensor<16x8xf32>, %n: index, %e: tensor<?x8x?xf32>) -> tensor<?x8x?xf32> {
  %p = linalg.pack %x inner_dims_pos = [0] inner_tiles = [%n]
      into %e : tensor<16x8xf32> -> tensor<?x8x?xf32>
  return %p : tensor<?x8x?xf32>
}
""")
    (op,) = graph.ops
    assert isinstance(op, Opaque)
    assert op.reason.startswith("expected ")
