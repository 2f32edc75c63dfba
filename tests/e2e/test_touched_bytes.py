"""What kernels of a whole module read: each its own weights, of the one buffer with all of them."""

from __future__ import annotations

import itertools
from pathlib import Path

from layoutopt.pricing.analytic.compiled_kernels import Kernels
from layoutopt.profiles.target import load_target

TARGET = load_target("mi355x")
SIZES = (256, 128, 64)
"""Of x and of what the two weights make of it, 16 rows each."""


def layers() -> str:
    """Two matmuls, one after the other, with constants that do not fold."""
    lines = []
    for layer, (before, after) in enumerate(itertools.pairwise(SIZES)):
        kind, weights = f"tensor<16x{after}xf32>", f"tensor<{before}x{after}xf32>"
        lines.append(f"""
  %w{layer} = flow.tensor.constant #util.byte_pattern<{layer + 1}> : {weights}
  %e{layer} = tensor.empty() : {kind}
  %f{layer} = linalg.fill ins(%zero : f32) outs(%e{layer} : {kind}) -> {kind}
  %x{layer + 1} = linalg.matmul ins(%x{layer}, %w{layer} : tensor<16x{before}xf32>, {weights})
    outs(%f{layer} : {kind}) -> {kind}""")
    return (
        f"func.func @main(%x0: tensor<16x{SIZES[0]}xf32>) -> tensor<16x{SIZES[-1]}xf32> {{\n"
        f"  %zero = arith.constant 0.0 : f32{''.join(lines)}\n"
        f"  return %x{len(SIZES) - 1} : tensor<16x{SIZES[-1]}xf32>\n}}\n"
    )


def test_of_one_buffer_with_all_weights_each_kernel_reads_its_own(tmp_path: Path) -> None:
    source = tmp_path / "layers.mlir"
    source.write_text(layers())
    kernels = Kernels(tmp_path / "kernels.jsonl", TARGET.place)
    (facts,) = kernels.module(source, TARGET.flags, 300.0)
    touched = [step.kernel.touched_bytes for step in facts.steps if step.kernel is not None]
    assert touched == [
        4 * (16 * before + before * after + 16 * after)
        for before, after in itertools.pairwise(SIZES)
    ]
