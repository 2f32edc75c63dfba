"""Contractions with tiles of workgroups: what GPUs' compilers take, and what a plan makes of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import layoutopt
from layoutopt.candidates.form import Form
from layoutopt.candidates.scheduled_workgroups import workgroup_tiles
from layoutopt.errors import InputError
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.schedule import WorkgroupTile
from layoutopt.mlir.write.emit import function_text
from layoutopt.options import Effort, Options
from layoutopt.planning.plan_file import read_plan
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from tests.marks import long
from tests.parsing import lifted


def layer(m: int, n: int, k: int, element: str, batch: str = "") -> str:
    """tanh(x @ w + b)"""
    name = "batch_matmul" if batch else "matmul"
    x, w = f"tensor<{batch}{m}x{k}x{element}>", f"tensor<{batch}{k}x{n}x{element}>"
    y = f"tensor<{batch}{m}x{n}xf32>"
    return f"""
      func.func @main(%x: {x}, %w: {w}, %b: {y}) -> {y} {{
        %zero = arith.constant 0.0 : f32
        %e = tensor.empty() : {y}
        %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
        %m = linalg.{name} ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
        %a = linalg.map {{ arith.addf }} ins(%m, %b : {y}, {y}) outs(%e : {y})
        %t = linalg.map {{ math.tanh }} ins(%a : {y}) outs(%e : {y})
        return %t : {y}
      }}"""


@pytest.mark.parametrize("name", ["mi355x", long("mi300x"), long("h100")])
@pytest.mark.parametrize(
    "text",
    [
        layer(128, 768, 768, "f16"),
        layer(197, 768, 384, "f16"),
        layer(64, 96, 32, "f32", batch="12x"),
        layer(128, 256, 512, "f32"),
    ],
    ids=["f16", "padded", "batches", "f32"],
)
def test_iree_takes_the_tiles(tmp_path: Path, name: str, text: str) -> None:
    target = replace(load_target(name), measurable=True)
    graph = lifted(text)
    contraction = next(op for op in graph.ops if isinstance(op, Structured) and op.is_contraction)
    assert target.units is not None
    units = target.machine.compute_units
    tiles = workgroup_tiles(contraction, graph.types, target.units, units)
    assert tiles
    for tile in {tiles[0], tiles[len(tiles) // 2], tiles[-1]}:
        written = Form.WORKGROUPS.write(graph, tile)
        assert isinstance(written, Graph)
        source = tmp_path / "layer.mlir"
        source.write_text(function_text(written, written.inputs, written.outputs, "main"))
        outcome = compile_file(source, tmp_path / "layer.vmfb", target.flags, 120.0)
        assert outcome.ok, (str(tile), outcome.reason)


@pytest.mark.long
def test_a_plan_has_them_and_is_made_again_from_its_file(tmp_path: Path) -> None:
    """The tile that the kernels' prices chose is in the module, and what it computes is checked."""
    model, out, file = tmp_path / "layer.mlir", tmp_path / "out.mlir", tmp_path / "plan.json"
    model.write_text(layer(96, 768, 768, "f16"))
    options = Options(cache=tmp_path / "cache", effort=Effort.THOROUGH)
    plan = layoutopt.optimize(model, "mi355x", options)
    plan.save(file)
    plan.apply(out)
    (found,) = read_plan(file).functions
    (row,) = (row for row in found.candidates if row.form is Form.WORKGROUPS)
    tile = row.workgroup
    assert isinstance(tile, WorkgroupTile)
    assert f"workgroups of {tile}" in row.made_by
    said = re.findall(r"workgroup = \[(\d+), (\d+), 0\]", out.read_text())
    assert {(int(m), int(n)) for m, n in said} == {(tile.rows, tile.columns)}
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert "on this machine's CPU" in plan.report.verification.place
    again = layoutopt.optimize(model, "mi355x", options, plan=file)
    assert [c.form for c in again.report.choices] == [c.form for c in plan.report.choices]
    with pytest.raises(InputError, match=r"a schedule of .*, which host takes none of"):
        layoutopt.optimize(model, "host", options, plan=file)
