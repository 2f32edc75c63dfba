"""Ops that start from constants, as IREE compiles and runs them before and after."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from iree import compiler, runtime

from examples.make_constant_outs import constant_outs
from layoutopt.ir.types import Array
from layoutopt.mlir.module import parse_module
from layoutopt.report.captured import Captured, count_captured
from tests.planning import HOST, planned

STATE = """
util.global private mutable @state = dense<1.0> : tensor<64x64xf32>
util.global private @two = dense<2.0> : tensor<64x64xf32>
func.func @step(%x: tensor<64x4xf32>, %w: tensor<4x64xf32>) -> tensor<64x64xf32> {
  %c = util.global.load @state : tensor<64x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<64x4xf32>, tensor<4x64xf32>)
    outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  util.global.store %y, @state : tensor<64x64xf32>
  %two = util.global.load @two : tensor<64x64xf32>
  %z = linalg.matmul ins(%y, %y : tensor<64x64xf32>, tensor<64x64xf32>)
    outs(%two : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %z : tensor<64x64xf32>
}
"""


def rewritten(source: Path) -> Path:
    module = parse_module(source)
    for place, graph in enumerate(module.graphs):
        module.replace(place, planned(graph, lambda *_: 10, conversion_ns=10))
    output = source.with_name("rewritten.mlir")
    module.write(output, HOST.flags)
    return output


def compiled(source: Path) -> runtime.VmModule:
    arguments = ["--iree-llvmcpu-target-cpu=host"]
    binary = compiler.tools.compile_file(
        str(source), target_backends=["llvm-cpu"], extra_args=arguments
    )
    return runtime.load_vm_flatbuffer(binary, driver="local-sync")


def numbers(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).integers(-3, 4, shape).astype(np.float32)


def stored(count: int) -> Array:
    """What `constant_outs` keeps in a resource of so many elements."""
    return np.random.default_rng(count).standard_normal(count, dtype=np.float32)


def test_no_constant_is_captured_read_write(tmp_path: Path) -> None:
    source = tmp_path / "constants.mlir"
    source.write_text(constant_outs(megabytes=0.05))
    output = rewritten(source)
    before, after = (count_captured(p, tmp_path, HOST.flags, 300.0) for p in (source, output))
    assert before is not None
    assert (before.readwrite, before.copies) == (3, 3)
    assert after == Captured(0, 0, 0)

    n = 111
    x, w, rows = numbers(n, 4), numbers(4, n), numbers(16, n)
    found = [np.asarray(r) for r in compiled(output)["main"](x, w, rows)]

    row = stored(n)
    wanted = [
        x @ w + stored(n * n).reshape(n, n),
        np.maximum(rows.max(axis=0), row),
        rows.sum(axis=0) + row,
    ]
    for a, b in zip(found, wanted, strict=True):
        assert np.allclose(a, b, atol=1e-5)


def test_a_mutable_global_keeps_its_state(tmp_path: Path) -> None:
    source = tmp_path / "state.mlir"
    source.write_text(STATE)
    module = compiled(rewritten(source))
    x, w = numbers(64, 4), numbers(4, 64)
    state = np.ones((64, 64), np.float32)
    for _ in range(2):
        state = state + x @ w
        assert np.allclose(np.asarray(module["step"](x, w)), state @ state + 2, rtol=1e-6)
