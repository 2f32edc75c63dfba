"""Ops of a module by the lines that errors point at."""

from __future__ import annotations

from pathlib import Path

from layoutopt.mlir.module import parse_module
from layoutopt.mlir.read.located import operands_at

TEXT = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>)
      outs(%f : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
"""


def test_an_op_is_found_by_its_line(tmp_path: Path) -> None:
    path, written = tmp_path / "model.mlir", tmp_path / "model.mlirbc"
    path.write_text(TEXT, encoding="utf-8")
    parse_module(path).write(written, ())
    matmul = ("tensor<4x6xf32>", "tensor<4x8xf32>", "tensor<8x6xf32>")
    assert operands_at(written, (6,)) == {matmul}
    assert operands_at(written, (2,)) == frozenset()
    assert operands_at(written, ()) == frozenset()
