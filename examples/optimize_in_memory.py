"""Optimize a module that is in memory, and go on with the result in memory.

python examples/optimize_in_memory.py
"""

from __future__ import annotations

from pathlib import Path

from iree.compiler import ir

import layoutopt

MODEL = """
func.func @main(%x: tensor<64x128xf32>, %w: tensor<128x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<64x128xf32>, tensor<128x64xf32>)
    outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
"""


def main(cache: Path | None = None) -> ir.Module:
    """A module of the compiler's bindings in, one of the same context out."""
    with ir.Context() as context:
        module = ir.Module.parse(MODEL)
        plan = layoutopt.optimize(module, "host", layoutopt.Options(cache=cache))
        optimized = plan.in_memory(context)
    print(plan.report.winner, *plan.compile_flags)
    return optimized


if __name__ == "__main__":
    print(main())
