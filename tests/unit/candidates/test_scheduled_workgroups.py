"""Contractions on a GPU: which tiles of workgroups are tried, and what the compiler is told."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from layoutopt.candidates.form import Form
from layoutopt.candidates.scheduled_workgroups import with_workgroups, workgroup_tiles
from layoutopt.compiler.gpu import GpuUnits, MatrixInstruction
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.schedule import Schedule, Workgroup, WorkgroupTile
from layoutopt.mlir.write.emit import body_text
from layoutopt.oracle import evaluate
from tests.parsing import lifted

WIDE = MatrixInstruction("MFMA_F32_16x16x32_F16", "f16", "f32", 16, 16, 32)
OLDER = MatrixInstruction("MFMA_F32_16x16x16_F16", "f16", "f32", 16, 16, 16)
LARGE = MatrixInstruction("MFMA_F32_32x32x16_F16", "f16", "f32", 32, 32, 16)
AMD = GpuUnits(64, 1024, 163840, (WIDE, LARGE, OLDER))
NVIDIA = GpuUnits(
    32, 1024, 101376, (MatrixInstruction("NV_MMA_SYNC_F32_16x8x16_F16", "f16", "f32", 16, 8, 16),)
)
UNITS = 256


def model(
    m: int | str, n: int, k: int, element: str = "f16", batch: int = 0, sums: str = "f32"
) -> Graph:
    """A matmul, or a batch of them."""
    name, shared = ("batch_matmul", f"{batch}x") if batch else ("matmul", "")
    x, w, y = (
        f"tensor<{shared}{a}x{b}x{kind}>"
        for a, b, kind in ((m, k, element), (k, n, element), (m, n, sums))
    )
    rows, size = ("", "") if m != "?" else ("%rows = tensor.dim %x, %c0 : " + x, "%rows")
    zero = "0" if sums.startswith("i") else "0.0"
    return lifted(f"""
      func.func @main(%x: {x}, %w: {w}) -> {y} {{
        %c0 = arith.constant 0 : index
        {rows}
        %zero = arith.constant {zero} : {sums}
        %e = tensor.empty({size}) : {y}
        %f = linalg.fill ins(%zero : {sums}) outs(%e : {y}) -> {y}
        %m = linalg.{name} ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
        return %m : {y}
      }}""")


def tiles(graph: Graph, units: GpuUnits = AMD, count: int = UNITS) -> tuple[WorkgroupTile, ...]:
    (op,) = (op for op in graph.ops if isinstance(op, Structured))
    return workgroup_tiles(op, graph.types, units, count)


def schedules(graph: Graph) -> list[Schedule]:
    found = (op.schedule for op in graph.ops if isinstance(op, Structured))
    return [schedule for schedule in found if schedule is not None]


@pytest.mark.parametrize("units", [AMD, NVIDIA], ids=["amd", "nvidia"])
@pytest.mark.parametrize("element", ["f16", "f32"])
@pytest.mark.parametrize(
    ("m", "n", "k"), [(128, 768, 768), (2048, 2048, 2048), (16, 64, 128), (512, 4096, 256)]
)
def test_a_tile_is_what_a_workgroup_can_hold(
    m: int, n: int, k: int, element: str, units: GpuUnits
) -> None:
    found = tiles(model(m, n, k, element), units)
    assert 1 <= len(found) <= 8
    assert len(set(found)) == len(found)
    for tile in found:
        size = 2 if element == "f16" else 4
        assert tile.threads <= units.most_threads
        assert tile.threads % units.subgroup == 0
        assert 2 * (tile.rows + tile.columns) * tile.depth * size <= units.memory_bytes
        assert tile.rows % tile.held_rows == tile.columns % tile.held_columns == 0
        assert bool(tile.instruction) == (element == "f16")
        for held, one in zip(
            (tile.held_rows, tile.held_columns, tile.depth), tile.of_one, strict=True
        ):
            assert held % one == 0


def test_few_rows_are_shared_by_most_of_the_units() -> None:
    best = tiles(model(128, 768, 768))[0]
    assert (128 // best.rows) * (768 // best.columns) >= UNITS / 2


def test_many_rows_are_read_seldom() -> None:
    best = tiles(model(8192, 8192, 1024))[0]
    assert best.rows * best.columns >= 64 * 64


def test_instructions_that_sum_up_fewer_terms_are_not_tried() -> None:
    names = {tile.instruction for tile in tiles(model(2048, 2048, 2048))}
    assert OLDER.name not in names
    assert names <= {WIDE.name, LARGE.name}


def test_a_rest_is_padded_where_it_is_small() -> None:
    graph = model(197, 768, 768)
    for tile in tiles(graph):
        (schedule,) = schedules(with_workgroups(graph, tile))
        assert schedule.workgroup is not None
        assert schedule.workgroup.padding == (tile.rows, tile.columns, tile.depth)
        assert -(-197 // tile.rows) * tile.rows <= 1.34 * 197
    assert tiles(model(3, 768, 768)) == ()
    assert tiles(model(197, 768, 768, "f32")) == ()


@pytest.mark.parametrize(
    "graph",
    [
        model("?", 768, 768),
        model(128, 768, 768, "f64", sums="f64"),
        model(128, 768, 768, "f16", sums="f16"),
        model(128, 1, 768),
    ],
    ids=["open rows", "doubles", "narrow sums", "one column"],
)
def test_what_no_tile_was_seen_to_serve_has_none(graph: Graph) -> None:
    assert tiles(graph) == ()


def test_a_sum_that_goes_on_has_none() -> None:
    graph = lifted("""
      func.func @main(%x: tensor<64x64xf16>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
        %m = linalg.matmul ins(%x, %x : tensor<64x64xf16>, tensor<64x64xf16>)
                           outs(%y : tensor<64x64xf32>) -> tensor<64x64xf32>
        return %m : tensor<64x64xf32>
      }""")
    assert tiles(graph) == ()


def test_the_compiler_is_told_in_matrix_instructions() -> None:
    tile = WorkgroupTile(64, 32, 128, 32, 16, 64, WIDE.name, (16, 16, 32))
    written = Form.WORKGROUPS.write(model(128, 768, 768, batch=12), tile)
    assert isinstance(written, Graph)
    (schedule,) = schedules(written)
    assert schedule == Schedule(
        (1, 64, 32, 0), (0, 2, 1, 0), (0, 0, 0, 4), workgroup=Workgroup(256, 64, WIDE.name)
    )
    text = body_text(written)
    assert f"mma_kind = #iree_gpu.mma_layout<{WIDE.name}>, promote_operands" in text
    assert re.search(r"workgroup_size = \[256, 1, 1\] subgroup_size = 64", text)


def test_without_matrix_instructions_in_elements_of_a_thread() -> None:
    tile = WorkgroupTile(32, 64, 16, 4, 4, 32)
    written = Form.WORKGROUPS.write(model(128, 768, 768, "f32", batch=12), tile)
    assert isinstance(written, Graph)
    (schedule,) = schedules(written)
    assert schedule == Schedule(
        (1, 32, 64, 0), (1, 4, 4, 0), (0, 0, 0, 16), workgroup=Workgroup(128, 32)
    )
    assert "thread = [1, 4, 4, 0], workgroup = [1, 32, 64, 0]" in body_text(written)


def test_loops_of_one_are_lost_with_their_sizes() -> None:
    graph = model(128, 768, 768, batch=1)
    tile = WorkgroupTile(64, 32, 128, 32, 16, 64, WIDE.name, (16, 16, 32))
    written = Form.WORKGROUPS.write(graph, tile)
    assert isinstance(written, Graph)
    (schedule,) = schedules(written)
    assert schedule.distribution == (64, 32, 0)
    padded = replace(tile, rows=96)
    again = Form.WORKGROUPS.write(graph, padded)
    assert isinstance(again, Graph)
    (schedule,) = schedules(again)
    assert schedule.workgroup is not None
    assert schedule.workgroup.padding == (96, 32, 128)


def test_a_schedule_computes_the_same() -> None:
    graph = model(32, 16, 32, "f32", batch=2)
    rng = np.random.default_rng(0)
    inputs = {t: rng.normal(size=graph.types[t].shape).astype(np.float32) for t in graph.inputs}
    right = evaluate(graph, inputs)[graph.outputs[0]]
    written = Form.WORKGROUPS.write(graph, WorkgroupTile(16, 16, 16, 4, 4, 32))
    assert isinstance(written, Graph)
    assert schedules(written)
    np.testing.assert_array_equal(evaluate(written, inputs)[written.outputs[0]], right)
