"""A plan's dispatches are those that its choices have alone, and the compiled module has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from layoutopt.compiler.installed import quirks
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.verification.dispatch_count import dispatches_in
from layoutopt.verification.dispatch_names import kernel_name
from layoutopt.verification.planned_dispatches import planned_dispatches

FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
MATRIX = "tensor<16x32xf32>"
SUM = "tensor<16xf32>"
REDUCED = f"""
%z = arith.constant 0.0 : f32
%e = tensor.empty() : {SUM}
%f = linalg.fill ins(%z : f32) outs(%e : {SUM}) -> {SUM}
%r = linalg.reduce {{ arith.addf }} ins(%x : {MATRIX}) outs(%f : {SUM}) dimensions = [1]
"""
TILED = f"""
%z = arith.constant 0.0 : f32
%e = tensor.empty() : tensor<16x48xf32>
%f = linalg.fill ins(%z : f32) outs(%e : tensor<16x48xf32>) -> tensor<16x48xf32>
%r = linalg.matmul {{iree.opt.data_tiling = true}} ins(%x, %w : {MATRIX}, tensor<32x48xf32>)
    outs(%f : tensor<16x48xf32>) -> tensor<16x48xf32>
"""
RESHAPED = "%r = tensor.collapse_shape %x [[0, 1]] : tensor<16x32xf32> into tensor<512xf32>"
HEADS = """
#x = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
#w = affine_map<(d0, d1, d2, d3) -> (d1, d3, d2)>
#y = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#b = affine_map<(d0, d1, d2) -> (d2)>
#q = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>
#k = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
func.func @main(%x: tensor<12x64xf32>, %w: tensor<3x64x32xf32>, %b: tensor<96xf32>,
                %k: tensor<6x16x20xf32>) -> tensor<6x12x20xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x3x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<12x3x32xf32>) -> tensor<12x3x32xf32>
  %m = linalg.generic {indexing_maps = [#x, #w, #y],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<12x64xf32>, tensor<3x64x32xf32>) outs(%f : tensor<12x3x32xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %u = arith.mulf %p, %q : f32
    %v = arith.addf %o, %u : f32
    linalg.yield %v : f32
  } -> tensor<12x3x32xf32>
  %m4 = tensor.expand_shape %m [[0, 1], [2], [3]] output_shape [1, 12, 3, 32]
      : tensor<12x3x32xf32> into tensor<1x12x3x32xf32>
  %m3 = tensor.collapse_shape %m4 [[0], [1], [2, 3]]
      : tensor<1x12x3x32xf32> into tensor<1x12x96xf32>
  %eb = tensor.empty() : tensor<1x12x96xf32>
  %s = linalg.generic {indexing_maps = [#id, #b, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%m3, %b : tensor<1x12x96xf32>, tensor<96xf32>) outs(%eb : tensor<1x12x96xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %u = arith.addf %p, %q : f32
    linalg.yield %u : f32
  } -> tensor<1x12x96xf32>
  BARRIERS
  %h4 = tensor.expand_shape %h [[0], [1], [2, 3]] output_shape [1, 12, 6, 16]
      : tensor<1x12x96xf32> into tensor<1x12x6x16xf32>
  %h3 = tensor.collapse_shape %h4 [[0, 1], [2], [3]]
      : tensor<1x12x6x16xf32> into tensor<12x6x16xf32>
  %er = tensor.empty() : tensor<6x12x20xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<6x12x20xf32>) -> tensor<6x12x20xf32>
  %r = linalg.generic {indexing_maps = [#q, #k, #y],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%h3, %k : tensor<12x6x16xf32>, tensor<6x16x20xf32>) outs(%fr : tensor<6x12x20xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %u = arith.mulf %p, %q : f32
    %v = arith.addf %o, %u : f32
    linalg.yield %v : f32
  } -> tensor<6x12x20xf32>
  return %r : tensor<6x12x20xf32>
}
"""


def benchmark(body: str, result: str) -> Benchmark:
    """Of one argument."""
    return Benchmark((Operand("%x", MATRIX),), (), body, (Result("%r", result),), FLAGS, no_case)


def no_case() -> Case:
    raise AssertionError("expected that nothing is run")


def test_dispatches_of_pieces_are_named_and_reshapes_have_none(tmp_path: Path) -> None:
    summed, reshaped = benchmark(REDUCED, SUM), benchmark(RESHAPED, "tensor<512xf32>")
    found = planned_dispatches([summed, reshaped, summed], tmp_path, 120.0)
    assert found.keys() == {summed.text, reshaped.text}
    (name,) = found[summed.text]
    assert name.endswith("_reduction_16x32_f32")
    assert found[reshaped.text] == ()


def test_what_was_found_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [benchmark(REDUCED, SUM), benchmark(RESHAPED, "tensor<512xf32>")]
    found = planned_dispatches(pieces, tmp_path, 120.0, tmp_path / "kept")
    monkeypatch.setattr("layoutopt.verification.planned_dispatches.compile_to", None)
    assert planned_dispatches(pieces, tmp_path, 120.0, tmp_path / "kept") == found


def test_what_is_laid_out_for_data_tiling_has_a_dispatch(tmp_path: Path) -> None:
    """Weights are laid out when the module is loaded, so that they have none."""
    tiled = Benchmark(
        (Operand("%x", MATRIX),),
        (Operand("%w", "tensor<32x48xf32>"),),
        TILED,
        (Result("%r", "tensor<16x48xf32>"),),
        (*FLAGS, quirks().flags.data_tiling),
        no_case,
    )
    found = [kernel_name(name) for name in planned_dispatches([tiled], tmp_path, 120.0)[tiled.text]]
    assert found == ["encode_16x32xf32_to_16x32xf32", "matmul_16x48x32_f32"]
    assert kernel_name("_encoding_2_encode_16x32xf32_to_16x32xf32") == found[0]


def test_of_a_piece_that_does_not_compile_nothing_is_known(tmp_path: Path) -> None:
    assert planned_dispatches([benchmark("%r = test.none", SUM)], tmp_path, 120.0) == {}


def dispatches_of_heads(barriers: Sequence[str], folder: Path) -> int | None:
    """With these ops between a projection with its bias and what reads it by heads."""
    kind, source, lines = "tensor<1x12x96xf32>", "%s", []
    for place, name in enumerate(barriers):
        result = "%h" if place == len(barriers) - 1 else f"%h_{place}"
        lines.append(f"{result} = {name} {source} : {kind} -> {kind}")
        source = result
    model = folder / "heads.mlir"
    model.write_text(HEADS.replace("BARRIERS", "\n  ".join(lines)), encoding="utf-8")
    return dispatches_in(model, FLAGS, folder, 120.0)


def test_heads_that_are_split_leave_the_bias_with_its_contraction(tmp_path: Path) -> None:
    """A reshape that goes up through the bias gives it other loops, and a dispatch of its own."""
    barriers = quirks().fusion.barrier
    assert dispatches_of_heads(barriers, tmp_path) == 2
    assert dispatches_of_heads(barriers[-1:], tmp_path) == 3
