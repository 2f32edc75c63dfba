"""Slices and inserts at places that are known at run time only."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Insert, Opaque, Reshape, Slice, needs_open_sizes
from layoutopt.ir.size import bounds, planned
from layoutopt.mlir.module import Module, parse_module
from layoutopt.mlir.read.lift import Lifted
from layoutopt.planning.planner import plan_graph
from tests.made_up_prices import MadeUpPrices
from tests.planning import HOST, setting

BIG, ROW = "tensor<9x8xf32>", "tensor<2x8xf32>"
HEAD = f"""
func.func @main(%x: {BIG}, %y: {ROW}, %p: i64, %n: index) -> {ROW} {{
  %w = arith.constant dense_resource<w> : {BIG}
  %i = arith.index_cast %p : i64 to index
"""


def parsed(folder: Path, body: str) -> Module:
    path = folder / "model.mlir"
    path.write_text(f"{HEAD}{body}  return %r : {ROW}\n}}", encoding="utf-8")
    return parse_module(path)


def cut(result: str, source: str, place: str, rows: int = 2) -> str:
    kind = f"tensor<{rows}x8xf32>"
    return (
        f"{result} = tensor.extract_slice {source}[{place}, 0] [{rows}, 8] [1, 1] "
        f": {BIG} to {kind}\n"
    )


def test_a_place_is_a_symbol_that_stays_inside(tmp_path: Path) -> None:
    module = parsed(tmp_path, cut("%r", "%x", "%i"))
    (main,) = module.blocks
    (op,) = (op for op in main.graph.ops if isinstance(op, Slice))
    assert needs_open_sizes(op)
    assert bounds(op.offsets[0]) == (0, 7)
    assert planned(op.offsets[0]) == 3
    (cut_there,) = (op for op in concrete(main.graph).ops if isinstance(op, Slice))
    assert cut_there.offsets == (3, 0)


@pytest.mark.parametrize("place", ["%i", "%n"])
def test_one_place_is_one_symbol(tmp_path: Path, place: str) -> None:
    """What lies inside of the shorter room lies inside of the longer one."""
    text = cut("%a", "%x", place, 5) + cut("%r", "%x", place)
    text += f"%b = tensor.insert_slice %r into %x[{place}, 0] [2, 8] [1, 1] : {ROW} into {BIG}\n"
    text += "util.optimization_barrier %a : tensor<5x8xf32>\n"
    text += f"util.optimization_barrier %b : {BIG}\n"
    module = parsed(tmp_path, text)
    (main,) = module.blocks
    placed = [op for op in main.graph.ops if isinstance(op, Slice | Insert)]
    assert len(placed) == 3
    assert len({op.offsets for op in placed}) == 1
    assert bounds(placed[0].offsets[0]) == (0, 4)


def test_a_slice_that_is_all_there_is_begins_at_zero(tmp_path: Path) -> None:
    text = f"%a = tensor.extract_slice %y[%i, 0] [2, 8] [1, 1] : {ROW} to {ROW}\n"
    module = parsed(tmp_path, text + cut("%r", "%x", "%n"))
    (main,) = module.blocks
    slices = [op for op in main.graph.ops if isinstance(op, Slice)]
    assert slices[0].offsets == (0, 0)
    assert needs_open_sizes(slices[1])


def test_what_is_read_of_a_constant_at_run_time_is_none(tmp_path: Path) -> None:
    module = parsed(
        tmp_path,
        f"""{cut("%c", "%w", "%i")}
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%h = %y) -> ({ROW}) {{
          {cut("%d", "%w", "%k")}
          %e = tensor.empty() : {ROW}
          %s = linalg.map {{ arith.addf }} ins(%c, %d : {ROW}, {ROW}) outs(%e : {ROW})
          scf.yield %s : {ROW}
        }}
        """,
    )
    for block in module.blocks:
        for op in block.graph.ops:
            if isinstance(op, Slice):
                assert op.result not in block.graph.constants
    main, loop = module.blocks
    (captured,) = (t for t in loop.graph.inputs if loop.values[t].owner == made(main))
    assert captured not in loop.graph.constants


def made(block: Lifted) -> object:
    """The op that makes the first slice of a block."""
    (op,) = (op for op in block.graph.ops if isinstance(op, Slice))
    return block.values[op.result].owner


_OPEN = "tensor<?x4xf32>"


def _inserted(folder: Path, source: str, given: str, made: str = "") -> Module:
    """``source`` of a type, with the size of the other argument, inserted between zeros."""
    path = folder / "model.mlir"
    path.write_text(
        f"""
func.func @main(%x: {_OPEN}, %y: {given}) -> tensor<?x9xf32> {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : {_OPEN}
  %e = tensor.empty(%n) : tensor<?x9xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x9xf32>) -> tensor<?x9xf32>
  {made}
  %r = tensor.insert_slice {source} into %f[0, 1] [%n, 4] [1, 2] : {given} into tensor<?x9xf32>
  return %r : tensor<?x9xf32>
}}
"""
    )
    return parse_module(path)


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("%y", ""),
        ("%z", f"%z = iree_tensor_ext.compute_barrier.start %y : {_OPEN}{{%n}} -> {_OPEN}"),
    ],
)
def test_what_is_inserted_has_the_sizes_that_the_insert_states(
    tmp_path: Path, source: str, made: str
) -> None:
    """Else a reshape of sizes that differ would stand before it, which no plan can write."""
    (graph,) = _inserted(tmp_path, source, _OPEN, made).graphs
    (insert,) = (op for op in graph.ops if isinstance(op, Insert))
    assert not [op for op in graph.ops if isinstance(op, Reshape)]
    assert graph.types[insert.source].shape == (graph.types[insert.result].shape[0], 4)
    plan_graph(graph, setting(HOST, MadeUpPrices(lambda work: 1)))


def test_an_insert_of_other_sizes_stays_as_it_came(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(
        """
func.func @main(%x: tensor<9x4xf32>, %y: tensor<?x4xf32>) -> tensor<9x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %y, %c0 : tensor<?x4xf32>
  %square = arith.muli %n, %n : index
  %more = arith.addi %square, %n : index
  %r = tensor.insert_slice %y into %x[0, 0] [%more, 4] [1, 1]
      : tensor<?x4xf32> into tensor<9x4xf32>
  return %r : tensor<9x4xf32>
}
"""
    )
    (graph,) = parse_module(path).graphs
    (op,) = graph.ops
    assert isinstance(op, Opaque)
    assert op.reason == (
        "expected to insert sizes (arg1.0*arg1.0 + arg1.0, 4), but got a tensor of (arg1.0, 4)"
    )


def test_a_number_that_follows_from_a_size_is_no_constant(tmp_path: Path) -> None:
    """As positions behind a cache of open length: nothing is read, yet each call has its own."""
    path = tmp_path / "model.mlir"
    path.write_text(
        """
func.func @main(%x: tensor<?x4xf32>, %y: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %w = arith.constant dense_resource<w> : tensor<4xf32>
  %e = tensor.empty() : tensor<1xf32>
  %place = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%e : tensor<1xf32>) {
  ^bb0(%b: f32):
    %i = arith.index_cast %n : index to i64
    %f = arith.sitofp %i : i64 to f32
    linalg.yield %f : f32
  } -> tensor<1xf32>
  %e2 = tensor.empty() : tensor<1x4xf32>
  %angle = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%place, %w : tensor<1xf32>, tensor<4xf32>) outs(%e2 : tensor<1x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<1x4xf32>
  %r = linalg.map { arith.addf } ins(%angle, %y : tensor<1x4xf32>, tensor<1x4xf32>)
      outs(%e2 : tensor<1x4xf32>)
  return %r : tensor<1x4xf32>
}
"""  # noqa: E501
    )
    module = parse_module(path)
    (graph,) = module.graphs
    (place,) = (op for op in graph.ops if needs_open_sizes(op))
    assert graph.constants.isdisjoint(place.outputs)
    assert [op for op in concrete(graph).ops if needs_open_sizes(op)] == []
    plan = plan_graph(graph, setting(HOST, MadeUpPrices(lambda work: 1)))
    assert not plan.lowered().hoisted
