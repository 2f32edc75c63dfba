"""Matmuls whose rows are known at run time only, on a GPU that is not here."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
from layoutopt.errors import InputError
from layoutopt.options import Effort, PlannedSize, SizeRange

ROWS = 96
MODEL = """
func.func @main(%x: tensor<?x256xf16>, %w: tensor<256x512xf16>) -> tensor<?x512xf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x256xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x512xf32>) -> tensor<?x512xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x256xf16>, tensor<256x512xf16>)
    outs(%f : tensor<?x512xf32>) -> tensor<?x512xf32>
  %e16 = tensor.empty(%n) : tensor<?x512xf16>
  %r = linalg.generic {
    indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%y : tensor<?x512xf32>) outs(%e16 : tensor<?x512xf16>) {
  ^bb0(%a: f32, %o: f16):
    %t = arith.truncf %a : f32 to f16
    linalg.yield %t : f16
  } -> tensor<?x512xf16>
  return %r : tensor<?x512xf16>
}
"""


def planned(folder: Path, ranges: tuple[SizeRange, ...] = ()) -> layoutopt.Plan:
    model = folder / "rows.mlir"
    model.write_text(MODEL)
    options = layoutopt.Options(
        effort=Effort.QUICK,
        cache=folder / "cache",
        sizes=(PlannedSize("arg0.0", (ROWS,)),),
        size_ranges=ranges,
    )
    return layoutopt.optimize(model, "mi355x", options)


def matrix_cycles(plan: layoutopt.Plan, side: str) -> float:
    """Of the matrix units in one wave of the side's kernels."""
    return sum(k.matrix_cycles for k in plan.report.kernels if k.side == side)


def test_rows_in_whole_tiles_use_the_matrix_units(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    report = plan.report
    assert report.verification is not None
    assert report.verification.passed
    assert not [kernel.reason for kernel in report.kernels if kernel.reason]
    assert matrix_cycles(plan, "before") == 0
    assert matrix_cycles(plan, "after") > 0
    before, after = report.before.predicted_ms, report.after.predicted_ms
    assert before is not None
    assert after is not None
    assert before > 3 * after
    assert "arith.constant -" not in str(plan.in_memory())


def test_a_range_that_tiles_divide_needs_no_pad(tmp_path: Path) -> None:
    plan = planned(tmp_path, (SizeRange("arg0.0", 32, 2048, 32),))
    text = str(plan.in_memory())
    assert "tensor.pad" not in text
    assert "expected a multiple of 32, at least 32, at most 2048, as util.assume.int" in text
    assert matrix_cycles(plan, "after") > 0
    assert [(s.low, s.high) for s in plan.report.sizes] == [(32, 2048)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (SizeRange("rows", 1, 8), "--dim-range rows: expected one of arg0.0, but got another name"),
        (SizeRange("arg0.0", 100, 200), "--dim arg0.0: expected a multiple of 1 between 100 and"),
    ],
)
def test_ranges_that_do_not_fit_are_refused(
    tmp_path: Path, given: SizeRange, message: str
) -> None:  # fmt: skip
    with pytest.raises(InputError, match=message):
        planned(tmp_path, (given,))
