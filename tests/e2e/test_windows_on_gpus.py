"""Convolutions with tiles of workgroups: what GPUs' compilers take, and what a plan makes of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import layoutopt
from layoutopt.candidates.form import Form
from layoutopt.candidates.scheduled_windows import window_tiles, with_windows
from layoutopt.ir.graph import Structured
from layoutopt.ir.roles import is_windowed
from layoutopt.mlir.write.emit import function_text
from layoutopt.options import Effort, Options
from layoutopt.planning.plan_file import read_plan
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from tests.parsing import lifted
from tests.unit.candidates.test_scheduled_windows import Model


@pytest.mark.parametrize("name", ["mi355x", "mi300x", "h100"])
@pytest.mark.parametrize("model", [Model(), Model(batch=2, stride=2, size=(5, 5))], ids=str)
def test_iree_takes_the_tiles(tmp_path: Path, name: str, model: Model) -> None:
    target = replace(load_target(name), measurable=True)
    graph = lifted(model.text)
    (op,) = (op for op in graph.ops if isinstance(op, Structured) and is_windowed(op))
    assert target.units is not None
    tiles = window_tiles(op, graph.types, target.units, target.machine.compute_units)
    assert tiles
    for tile in {tiles[0], tiles[-1]}:
        written = with_windows(graph, tile)
        source = tmp_path / "windows.mlir"
        source.write_text(function_text(written, written.inputs, written.outputs, "main"))
        outcome = compile_file(source, tmp_path / "windows.vmfb", target.flags, 120.0)
        assert outcome.ok, (str(tile), outcome.reason)


@pytest.mark.long
def test_a_plan_has_them_and_is_made_again_from_its_file(tmp_path: Path) -> None:
    """By prices of compiled kernels; what is written computes the same on this machine's CPU."""
    model, out, file = tmp_path / "conv.mlir", tmp_path / "out.mlir", tmp_path / "plan.json"
    model.write_text(Model(channels=128, filters=128).text)
    options = Options(cache=tmp_path / "cache", effort=Effort.THOROUGH)
    plan = layoutopt.optimize(model, "mi355x", options)
    plan.save(file)
    plan.apply(out)
    (found,) = read_plan(file).functions
    (row,) = (c for c in found.candidates if c.form is Form.WINDOWS)
    assert row.workgroup is not None
    assert f"direct, workgroups of {row.workgroup}" in row.made_by
    said = re.search(r"workgroup = \[(\d+), (\d+), (\d+), 0\]", out.read_text())
    assert said is not None
    tile = row.workgroup
    assert tuple(map(int, said.groups())) == (tile.lines, tile.pixels, tile.columns)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    again = layoutopt.optimize(model, "mi355x", options, plan=file)
    assert [c.form for c in again.report.choices] == [c.form for c in plan.report.choices]
