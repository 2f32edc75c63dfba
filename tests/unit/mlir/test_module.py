"""Functions of a module, and how they are called from outside."""

from __future__ import annotations

from pathlib import Path

from layoutopt.mlir.module import parse_module

TEXT = """
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.map { math.absf } ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)
  return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def test_private_functions_are_not_called_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT, encoding="utf-8")
    module = parse_module(path)
    assert module.names == ("helper", "main")
    assert [function.name for function in module.exported] == ["main"]
    assert module.boundary(1).types == ("tensor<4xf32>",)
