"""Loops over time: what they compute of a step alone goes ahead of them, and they are unrolled."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
from layoutopt.options import Effort, Objective
from tests.marks import long_but

H, W = "tensor<2x16xf32>", "tensor<16x16xf32>"


def recurrent(steps: range, place: str, sequence: str, size: str) -> str:
    """h = tanh(slice(xs) @ w + h @ w), every h kept; ``size``: of the slice of ``sequence``."""
    offset, count = place, len(steps)
    every = f"tensor<{count}x2x16xf32>"
    ones = ", ".join("1" for _ in size.split("x"))
    whole = f"tensor<{sequence}xf32>"
    return f"""
func.func @main(%xs: {whole}, %h0: {H}) -> ({every}, {H}) {{
  %w = arith.constant dense<0.02> : {W}
  %zero = arith.constant 0.0 : f32
  %low = arith.constant {steps.start} : index
  %high = arith.constant {steps.stop} : index
  %by = arith.constant {steps.step} : index
  %last = arith.constant {steps[-1]} : index
  %e = tensor.empty() : {H}
  %f = linalg.fill ins(%zero : f32) outs(%e : {H}) -> {H}
  %all = tensor.empty() : {every}
  %r:2 = scf.for %i = %low to %high step %by iter_args(%out = %all, %h = %h0) -> ({every}, {H}) {{
    %far = arith.subi %last, %i : index
    %near = arith.subi %i, %low : index
    %row = arith.divui %near, %by : index
    %x = tensor.extract_slice %xs[{offset}] [{size.replace("x", ", ")}] [{ones}]
      : {whole} to {H}
    %a = linalg.matmul ins(%x, %w : {H}, {W}) outs(%f : {H}) -> {H}
    %b = linalg.matmul ins(%h, %w : {H}, {W}) outs(%f : {H}) -> {H}
    %c = linalg.map {{ arith.addf }} ins(%a, %b : {H}, {H}) outs(%e : {H})
    %t = linalg.map {{ math.tanh }} ins(%c : {H}) outs(%e : {H})
    %kept = tensor.insert_slice %t into %out[%row, 0, 0] [1, 2, 16] [1, 1, 1] : {H} into {every}
    scf.yield %kept, %t : {every}, {H}
  }}
  return %r#0, %r#1 : {every}, {H}
}}
"""


LOOPS = {
    "along dim 1": (recurrent(range(6), "0, %i, 0", "2x6x16", "2x1x16"), 6),
    "every other from the end": (
        recurrent(range(1, 12, 2), "%far, 0, 0", "11x2x16", "1x2x16"),
        6,
    ),
    "and some left over": (recurrent(range(701), "%far, 0, 0", "701x2x16", "1x2x16"), 409),
}


LAYERS = f"""
func.func @main(%x: {H}) -> {H} {{
  %w = arith.constant dense<{
    [
        [[((7 * i + 3 * j + k) % 11 - 5) / 32 for k in range(16)] for j in range(16)]
        for i in range(3)
    ]
}> : tensor<3x16x16xf32>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %first = arith.constant 0 : index
  %last = arith.constant 2 : index
  %e = tensor.empty() : {H}
  %f = linalg.fill ins(%zero : f32) outs(%e : {H}) -> {H}
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %x) -> ({H}) : i32 {{
    %n = arith.index_cast %i : i32 to index
    %m = arith.maxsi %n, %first : index
    %k = arith.minsi %m, %last : index
    %v = tensor.extract_slice %w[%k, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<3x16x16xf32> to {W}
    %a = linalg.matmul ins(%h, %v : {H}, {W}) outs(%f : {H}) -> {H}
    %t = linalg.map {{ math.tanh }} ins(%a : {H}) outs(%e : {H})
    scf.yield %t : {H}
  }}
  return %r : {H}
}}
"""


def test_layers_in_a_loop_are_planned_one_after_another(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(LAYERS, encoding="utf-8")
    options = layoutopt.Options(
        cache=tmp_path / "cache", effort=Effort.QUICK, objective=Objective.CONVERSIONS
    )
    plan = layoutopt.optimize(tmp_path / "model.mlir", options=options)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert plan.report.written_out == {"main/for.0": 3}
    assert plan.report.blocks == ()
    plan.apply(tmp_path / "planned.mlir")
    text = (tmp_path / "planned.mlir").read_text(encoding="utf-8")
    assert "scf.for" not in text
    assert text.count("math.tanh") == 3


@pytest.mark.long
def test_layers_in_a_loop_count_as_often_as_they_run_where_kernels_are_priced(
    tmp_path: Path,
) -> None:
    (tmp_path / "model.mlir").write_text(LAYERS, encoding="utf-8")
    options = layoutopt.Options(cache=tmp_path / "cache", effort=Effort.QUICK)
    report = layoutopt.optimize(tmp_path / "model.mlir", "mi355x", options=options).report
    assert report.kept_for == ""
    assert report.written_out == {"main/for.0": 3}
    assert report.before.dispatches == 1
    assert report.after.dispatches == 3
    assert report.before.predicted_ms == pytest.approx(report.after.predicted_ms, rel=0.2)


CARRIED = f"""
func.func @main(%h0: {H}) -> tensor<50x2x16xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %e = tensor.empty() : {H}
  %all = tensor.empty() : tensor<50x2x16xf32>
  %r:2 = scf.for %i = %c0 to %c50 step %c1 iter_args(%out = %all, %h = %h0)
      -> (tensor<50x2x16xf32>, {H}) {{
    %t = linalg.map {{ math.tanh }} ins(%h : {H}) outs(%e : {H})
    %kept = tensor.insert_slice %t into %out[%i, 0, 0] [1, 2, 16] [1, 1, 1]
      : {H} into tensor<50x2x16xf32>
    scf.yield %kept, %t : tensor<50x2x16xf32>, {H}
  }}
  return %r#0 : tensor<50x2x16xf32>
}}
"""


def test_a_module_whose_loops_are_unrolled_is_not_called_unchanged(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(CARRIED, encoding="utf-8")
    options = layoutopt.Options(
        cache=tmp_path / "cache", effort=Effort.QUICK, objective=Objective.CONVERSIONS
    )
    report = layoutopt.optimize(tmp_path / "model.mlir", options=options).report
    assert report.verification is not None
    assert report.verification.passed
    assert [block.steps_a_trip for block in report.blocks] == [50]
    assert report.winner == "layoutopt"


OPEN = f"""
func.func @main(%xs: tensor<2x?x16xf32>, %h0: {H}) -> (tensor<?x2x16xf32>, {H}) {{
  %w = arith.constant dense<0.02> : {W}
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %xs, %c1 : tensor<2x?x16xf32>
  %last = arith.subi %d, %c1 : index
  %e = tensor.empty() : {H}
  %f = linalg.fill ins(%zero : f32) outs(%e : {H}) -> {H}
  %all = tensor.empty(%d) : tensor<?x2x16xf32>
  %r:2 = scf.for %i = %c0 to %d step %c1 iter_args(%out = %all, %h = %h0)
      -> (tensor<?x2x16xf32>, {H}) {{
    %k = arith.subi %last, %i : index
    %x = tensor.extract_slice %xs[0, %k, 0] [2, 1, 16] [1, 1, 1] : tensor<2x?x16xf32> to {H}
    %a = linalg.matmul ins(%x, %w : {H}, {W}) outs(%f : {H}) -> {H}
    %b = linalg.matmul ins(%h, %w : {H}, {W}) outs(%f : {H}) -> {H}
    %c = linalg.map {{ arith.addf }} ins(%a, %b : {H}, {H}) outs(%e : {H})
    %t = linalg.map {{ math.tanh }} ins(%c : {H}) outs(%e : {H})
    %kept = tensor.insert_slice %t into %out[%i, 0, 0] [1, 2, 16] [1, 1, 1]
      : {H} into tensor<?x2x16xf32>
    scf.yield %kept, %t : tensor<?x2x16xf32>, {H}
  }}
  return %r#0, %r#1 : tensor<?x2x16xf32>, {H}
}}
"""


def test_loops_over_sequences_of_any_length(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(OPEN, encoding="utf-8")
    options = layoutopt.Options(
        cache=tmp_path / "cache", effort=Effort.QUICK, objective=Objective.CONVERSIONS
    )
    plan = layoutopt.optimize(tmp_path / "model.mlir", options=options)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert plan.report.verification.unverified == ()
    (block,) = plan.report.blocks
    assert (block.ahead, block.steps_a_trip) == (1, 32)


@pytest.mark.parametrize("name", long_but(["and some left over"], LOOPS))
def test_loops_over_time_compute_the_same(tmp_path: Path, name: str) -> None:
    text, steps = LOOPS[name]
    (tmp_path / "model.mlir").write_text(text, encoding="utf-8")
    options = layoutopt.Options(
        cache=tmp_path / "cache", effort=Effort.QUICK, objective=Objective.CONVERSIONS
    )
    plan = layoutopt.optimize(tmp_path / "model.mlir", options=options)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert plan.report.verification.unverified == ()
    assert plan.report.discrepancies == ()
    (block,) = plan.report.blocks
    assert (block.name, block.ahead, block.steps_a_trip) == ("main/for.0", 1, steps)
    plan.apply(tmp_path / "planned.mlir")
    ahead, _, inside = (tmp_path / "planned.mlir").read_text(encoding="utf-8").partition("scf.for")
    assert ahead.count("linalg.") > 0
    first = inside.partition("scf.for")[0]
    assert first.count("math.tanh") == steps
