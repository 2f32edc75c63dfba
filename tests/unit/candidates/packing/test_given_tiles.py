"""What a model was packed by hand with is an option beside the target's own tiles."""

from __future__ import annotations

from dataclasses import replace

from layoutopt.candidates.explore import explore
from layoutopt.candidates.form import Form
from layoutopt.candidates.packing.given_tiles import given_tiles
from layoutopt.ir.graph import Graph
from layoutopt.profiles.target import Tile, load_target
from tests.parsing import lifted

MMT4D = """
func.func @f(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %z = arith.constant 0.0 : f32
  %xe = tensor.empty() : tensor<8x16x8x2xf32>
  %p = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [8, 2] into %xe
    : tensor<64x32xf32> -> tensor<8x16x8x2xf32>
  %we = tensor.empty() : tensor<12x16x4x2xf32>
  %q = linalg.pack %w outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [4, 2]
    into %we : tensor<32x48xf32> -> tensor<12x16x4x2xf32>
  %ye = tensor.empty() : tensor<8x12x8x4xf32>
  %s = linalg.fill ins(%z : f32) outs(%ye : tensor<8x12x8x4xf32>) -> tensor<8x12x8x4xf32>
  %m = linalg.mmt4d ins(%p, %q : tensor<8x16x8x2xf32>, tensor<12x16x4x2xf32>)
    outs(%s : tensor<8x12x8x4xf32>) -> tensor<8x12x8x4xf32>
  %e = tensor.empty() : tensor<64x48xf32>
  %u = linalg.unpack %m inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %e
    : tensor<8x12x8x4xf32> -> tensor<64x48xf32>
  return %u : tensor<64x48xf32>
}"""
GENERIC = """
func.func @f(%x: tensor<64x32xi8>, %w: tensor<32x48xi8>) -> tensor<8x48x8xi32> {
  %z = arith.constant 0 : i32
  %xe = tensor.empty() : tensor<8x32x8xi8>
  %p = linalg.pack %x inner_dims_pos = [0] inner_tiles = [8] into %xe
    : tensor<64x32xi8> -> tensor<8x32x8xi8>
  %ye = tensor.empty() : tensor<8x48x8xi32>
  %s = linalg.fill ins(%z : i32) outs(%ye : tensor<8x48x8xi32>) -> tensor<8x48x8xi32>
  %m = linalg.generic {
    indexing_maps = [affine_map<(m, n, i, k) -> (m, k, i)>, affine_map<(m, n, i, k) -> (k, n)>,
      affine_map<(m, n, i, k) -> (m, n, i)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]
  } ins(%p, %w : tensor<8x32x8xi8>, tensor<32x48xi8>) outs(%s : tensor<8x48x8xi32>) {
    ^bb0(%a: i8, %b: i8, %c: i32):
      %wa = arith.extsi %a : i8 to i32
      %wb = arith.extsi %b : i8 to i32
      %d = arith.muli %wa, %wb : i32
      %r = arith.addi %c, %d : i32
      linalg.yield %r : i32
  } -> tensor<8x48x8xi32>
  return %m : tensor<8x48x8xi32>
}"""


def packed_tiles(graph: Graph, form: Form) -> set[tuple[int, ...]]:
    """The tiles of contractions in a form, on a target that has none of its own."""
    space = explore(graph, replace(load_target("host"), tiles={}))
    return {
        layout.inner_tiles
        for candidate in space.candidates
        if candidate.form is form
        for _, layout in candidate.layouts
        if layout.is_tiled
    }


def test_tiles_of_mmt4d_are_written_so_or_as_a_generic() -> None:
    tiles = (Tile(8, 4, 2), Tile(8, 4, 2, mmt4d=False))
    assert given_tiles(lifted(MMT4D)) == {"f32": tiles}


def test_tiles_of_a_generic_are_those_of_its_packs() -> None:
    assert given_tiles(lifted(GENERIC)) == {"i8": (Tile(8, 1, 1, mmt4d=False),)}


def test_contractions_without_tiles_give_none() -> None:
    plain = """
func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>, %s: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %m = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x8xf32>)
    outs(%s : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %m : tensor<8x8xf32>
}"""
    assert given_tiles(lifted(plain)) == {}


def test_what_came_packed_may_be_packed_so() -> None:
    graph = lifted(MMT4D)
    for form in (Form.PACKED, Form.PACKED_GENERALIZED):
        assert packed_tiles(graph, form) >= {(8, 2), (4, 2), (8, 4)}
