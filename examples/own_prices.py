"""Plan with prices of one's own: here, the bytes that each dispatch reads and writes.

python examples/own_prices.py
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import layoutopt
from layoutopt.ir.types import Array
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.runtime.progress import Progress

MODEL = """
func.func @main(%x: tensor<1x56x56x64xf32>, %w: tensor<64x64x1x1xf32>) -> tensor<1x64x56x56xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x64x56x56xf32>
  %t = linalg.transpose ins(%x : tensor<1x56x56x64xf32>) outs(%e : tensor<1x64x56x56xf32>)
    permutation = [0, 3, 1, 2]
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<1x64x56x56xf32>)
    -> tensor<1x64x56x56xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%t, %w : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>)
    outs(%init : tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}
"""


class Bytes:
    """A source of prices: nanoseconds at a gigabyte a second, for every piece of work."""

    source = layoutopt.PriceSource.ANALYTIC

    def price(
        self, work: Sequence[layoutopt.Work], progress: Progress
    ) -> list[layoutopt.Price]:  # fmt: skip
        """One price for each piece, in order."""
        return [layoutopt.Price(0 if w.form.is_free else _moved_bytes(w)) for w in work]

    def stored(self, work: Sequence[layoutopt.Work]) -> list[layoutopt.Price | None]:
        """Nothing is kept."""
        return [None] * len(work)

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """Nothing is run."""
        return None


def _moved_bytes(work: layoutopt.Work) -> int:
    form = work.form
    types = form.graph.types
    return sum(types[t].size_bytes for t in (*form.inputs, *form.weights, *form.outputs))


def main(cache: Path | None = None) -> layoutopt.Plan:
    """The plan that moves the fewest bytes."""
    options = layoutopt.Options(cache=cache)
    plan = layoutopt.optimize(MODEL, "x86-64-avx512", options, pricer=Bytes())
    moved = sum(f.plan.cost_ns for f in plan.functions)
    print(
        f"{moved} bytes, {plan.report.before.transpose} -> {plan.report.after.transpose} transposes"
    )
    return plan


if __name__ == "__main__":
    main()
