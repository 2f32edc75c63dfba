"""Which ops a report lists as barriers."""

from __future__ import annotations

from pathlib import Path

from layoutopt.mlir.module import parse_module
from layoutopt.report.barriers import barriers

MODEL = """
func.func @main(%x: tensor<?x8xf32>, %k: index) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %s = util.assume.int %n<umin = 2, umax = 64, udiv = 2> : index
  %m = arith.andi %n, %k : index
  %fits = arith.cmpi sle, %m, %k : index
  cf.assert %fits, "too many rows"
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%s) : tensor<?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = arith.addf %x, %f : tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
"""


def test_what_only_sizes_go_through_is_not_one(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(MODEL)
    module = parse_module(tmp_path / "m.mlir")
    assert [row.op for row in barriers(module)] == ["arith.addf"]
