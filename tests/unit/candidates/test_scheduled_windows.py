"""Convolutions on a GPU: which tiles of workgroups are tried, and what the compiler is told."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from layoutopt.candidates.scheduled_windows import window_tiles, with_windows
from layoutopt.compiler.gpu import GpuUnits, MatrixInstruction
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.roles import is_windowed
from layoutopt.ir.schedule import WorkgroupTile
from layoutopt.mlir.write.emit import function_text
from layoutopt.oracle.evaluate import evaluate
from tests.parsing import lifted, verified

NVIDIA = GpuUnits(
    32, 1024, 101376, (MatrixInstruction("NV_MMA_SYNC_F32_16x8x16_F16", "f16", "f32", 16, 8, 16),)
)
UNITS = 132


@dataclass(frozen=True)
class Model:
    """A convolution with its channels last, of f16 into f32."""

    batch: int = 1
    height: int = 28
    width: int = 28
    channels: int = 64
    filters: int = 64
    size: tuple[int, int] = (3, 3)
    stride: int = 1
    element: str = "f16"

    @property
    def text(self) -> str:
        (h, w), s = self.size, self.stride
        x = f"{self.batch}x{(self.height - 1) * s + h}x{(self.width - 1) * s + w}x{self.channels}"
        y = f"tensor<{self.batch}x{self.height}x{self.width}x{self.filters}xf32>"
        x, k = (
            f"tensor<{shape}x{self.element}>"
            for shape in (x, f"{h}x{w}x{self.channels}x{self.filters}")
        )
        return f"""
func.func @main(%x: {x}, %k: {k}) -> {y} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.conv_2d_nhwc_hwcf {{dilations = dense<1> : tensor<2xi64>,
      strides = dense<{s}> : tensor<2xi64>}} ins(%x, %k : {x}, {k}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""


def tiles(model: Model) -> tuple[Graph, tuple[WorkgroupTile, ...]]:
    graph = lifted(model.text)
    (op,) = (op for op in graph.ops if isinstance(op, Structured) and is_windowed(op))
    return graph, window_tiles(op, graph.types, NVIDIA, UNITS)


def scheduled(model: Model, tile: WorkgroupTile) -> tuple[Graph, Structured]:
    graph, _ = tiles(model)
    found = with_windows(graph, tile)
    (op,) = (op for op in found.ops if isinstance(op, Structured) and op.schedule)
    return found, op


@pytest.mark.parametrize(
    "model",
    [
        Model(),
        Model(batch=2, height=6, width=15, channels=8, filters=8),
        Model(height=1, width=30, size=(1, 3)),
        Model(height=14, width=14, stride=2),
    ],
    ids=str,
)
def test_what_is_scheduled_computes_the_same(model: Model) -> None:
    graph, found = tiles(model)
    assert found
    written = with_windows(graph, found[0])
    rng = np.random.default_rng(0)
    given = {t: rng.integers(-3, 4, graph.types[t].shape).astype(np.float16) for t in graph.inputs}
    mine, theirs = evaluate(written, given), evaluate(graph, given)
    for t in graph.outputs:
        np.testing.assert_array_equal(mine[t], theirs[t])
    verified(written)


@pytest.mark.parametrize(
    "model",
    [
        Model(element="f32"),  # no instruction multiplies these
        Model(height=7, width=7),  # pixels would be padded to more than twice as many
        Model(filters=3),
    ],
    ids=str,
)
def test_others_have_no_tiles(model: Model) -> None:
    _, found = tiles(model)
    assert found == ()


def test_every_tile_has_whole_instructions_and_all_units_have_work() -> None:
    _, found = tiles(Model(filters=128))
    for tile in found:
        m, n, k = tile.of_one
        assert tile.held_pixels % m == tile.held_columns % n == tile.depth % k == 0
        assert tile.lines % tile.held_lines == 0
        assert tile.threads % tile.subgroup == 0
    first = found[0]
    lines, pixels, filters = -(-28 // first.lines), -(-28 // first.pixels), 128 // first.columns
    assert lines * pixels * filters >= UNITS // 2


def test_the_compiler_is_told_by_loops_of_the_result_and_one_for_sums() -> None:
    tile = WorkgroupTile(32, 32, 64, 16, 16, 32, NVIDIA.instructions[0].name, (16, 8, 16), 2, 1)
    assert str(tile) == "2x16x32x64 by 1x16x16"
    found, op = scheduled(Model(), tile)
    assert op.domain == (28, 28, 64, 3, 3, 64), "no loop of one step is left for the compiler"
    text = function_text(found, found.inputs, found.outputs, "main")
    assert "use_igemm_convolution = true" in text
    assert "workgroup = [2, 16, 32, 0]" in text
    assert "subgroup = [1, 1, 2, 0]" in text
    assert "reduction = [0, 0, 0, 4]" in text
    assert "padding = [2, 16, 32, 64], padding_conv = [2, 16, 32, 0, 0, 0]" in text
    whole, _ = scheduled(Model(height=32, width=32), tile)
    assert "padding" not in function_text(whole, whole.inputs, whole.outputs, "main")


def test_images_have_workgroups_of_their_own() -> None:
    tile = WorkgroupTile(32, 32, 64, 16, 16, 32, NVIDIA.instructions[0].name, (16, 8, 16), 2, 1)
    found, op = scheduled(replace(Model(), batch=4), tile)
    assert op.domain == (4, 28, 28, 64, 3, 3, 64)
    text = function_text(found, found.inputs, found.outputs, "main")
    assert "workgroup = [1, 2, 16, 32, 0]" in text
    assert "padding_conv = [1, 2, 16, 32, 0, 0, 0]" in text
