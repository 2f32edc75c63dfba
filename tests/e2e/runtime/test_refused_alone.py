"""Kernels that IREE does not compile are found where it names none."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.profiles.target import load_target
from layoutopt.runtime import refused_alone as module
from layoutopt.runtime.compile import CompileOutcome, compile_file
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.refused_alone import refused_alone

TARGET = load_target("mi355x")
LAYERS = """
func.func @main(%x: tensor<24x40xf32>, %w: tensor<40x56xf32>, %v: tensor<56x72xf32>)
    -> tensor<24x72xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x56xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<24x56xf32>) -> tensor<24x56xf32>
  %y = linalg.matmul ins(%x, %w : tensor<24x40xf32>, tensor<40x56xf32>)
    outs(%f : tensor<24x56xf32>) -> tensor<24x56xf32>
  %g = tensor.empty() : tensor<24x72xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<24x72xf32>) -> tensor<24x72xf32>
  %z = linalg.matmul ins(%y, %v : tensor<24x56xf32>, tensor<56x72xf32>)
    outs(%h : tensor<24x72xf32>) -> tensor<24x72xf32>
  return %z : tensor<24x72xf32>
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "layers.mlir"
    path.write_text(LAYERS)
    return path


def test_kernels_that_compile_are_not_named(source: Path) -> None:
    assert refused_alone(source, TARGET.flags, 300.0) == ()


def test_the_kernel_that_crashes_the_compiler_is_named(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crashes(
        kernel: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        if "24x72x56" in kernel.read_text():
            return CompileOutcome(False, Outcome.COMPILE_CRASH, "it crashed", 0.0)
        return compile_file(kernel, output, flags, timeout_s)

    monkeypatch.setattr(module, "compile_file", crashes)
    (name,) = refused_alone(source, TARGET.flags, 300.0)
    assert name.startswith("main_dispatch_")
    assert "matmul_24x72x56" in name


def test_what_there_was_no_time_for_is_not_named(source: Path) -> None:
    assert refused_alone(source, TARGET.flags, 0.0) == ()
