"""Tiles of registers where rows or columns are of open size."""

from __future__ import annotations

import pytest

from layoutopt.candidates.form import Form
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.graph import Structured
from layoutopt.ir.schedule import VectorTile
from tests.unit.candidates.test_scheduled import AVX2, AVX512, NEON, found, in_panels, tiles


def open_rows() -> str:
    x, w, y = "tensor<?x64xf32>", "tensor<64x768xf32>", "tensor<?x768xf32>"
    return f"""
func.func @main(%x: {x}) -> {y} {{
  %w = arith.constant dense_resource<w> : {w}
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : {x}
  %e = tensor.empty(%m) : {y}
  %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.matmul ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""


@pytest.mark.parametrize(
    ("registers", "expected"),
    [
        (AVX512, ["1x32", "1x64", "4x64", "8x32"]),
        (AVX2, ["1x16", "1x32", "2x32", "4x16"]),
        (NEON, ["1x16", "1x8", "4x16", "8x8"]),
    ],
)
def test_open_rows_come_one_by_one_or_several_with_a_rest(
    registers: VectorRegisters, expected: list[str]
) -> None:
    assert tiles(open_rows(), registers, Form.PANELS) == in_panels(expected, registers)


def rows_of_batches() -> str:
    """A matmul of 32 rows for each of an open number of batches."""
    x, flat, w, y = (
        "tensor<?x32x64xf32>", "tensor<?x64xf32>", "tensor<64x768xf32>", "tensor<?x768xf32>",
    )  # fmt: skip
    return f"""
func.func @main(%x: {x}) -> {y} {{
  %w = arith.constant dense_resource<w> : {w}
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %b = tensor.dim %x, %c0 : {x}
  %rows = arith.muli %b, %c32 : index
  %all = tensor.collapse_shape %x [[0, 1], [2]] : {x} into {flat}
  %e = tensor.empty(%rows) : {y}
  %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.matmul ins(%all, %w : {flat}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""


@pytest.mark.parametrize("text", [open_rows(), rows_of_batches()])
def test_tiles_of_open_rows_are_peeled_though_they_divide_them(text: str) -> None:
    """The compiler does not know what divides a size, and leaves loops of any length as scalars."""
    _, pairs = found(text, AVX2)
    schedules = {
        c.tile.rows: op.schedule
        for c, form in pairs
        if c.form is Form.PANELS and isinstance(c.tile, VectorTile)
        for op in form.graph.ops
        if isinstance(op, Structured) and op.schedule is not None
    }
    assert {2, 4} <= {*schedules}
    assert {rows: s.peeled for rows, s in schedules.items()} == {n: n > 1 for n in schedules}


def open_columns() -> str:
    """A matmul of 64 columns for each of an open number of parts, of which there may be none."""
    x, w, parts, y = (
        "tensor<16x8xf32>", "tensor<8x?xf32>", "tensor<8x?x64xf32>", "tensor<16x?xf32>",
    )  # fmt: skip
    return f"""
func.func @main(%x: {x}, %p: {parts}) -> {y} {{
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %p, %c1 : {parts}
  %columns = arith.muli %n, %c64 : index
  %w = tensor.collapse_shape %p [[0], [1, 2]] : {parts} into {w}
  %e = tensor.empty(%columns) : {y}
  %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.matmul ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""


def test_tiles_may_divide_columns_of_which_there_may_be_none() -> None:
    _, pairs = found(open_columns(), AVX512)
    assert {str(c.tile) for c, _ in pairs} >= {"8x32", "6x64"}
    for _, form in pairs:
        assert any(isinstance(o, Structured) and o.schedule for o in form.graph.ops)
