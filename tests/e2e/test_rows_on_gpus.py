"""Rows that are reduced: what GPUs' compilers take, and what a plan makes of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import layoutopt
from layoutopt.candidates.form import Form
from layoutopt.candidates.scheduled_rows import row_tiles, with_rows
from layoutopt.errors import InputError
from layoutopt.ir.graph import Graph
from layoutopt.mlir.write.emit import function_text
from layoutopt.options import Options
from layoutopt.planning.plan_file import read_plan
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from tests.unit.candidates.test_scheduled_rows import Normalized, bare

HEADS, TOKENS, SIZE = 6, 197, 64


@pytest.mark.parametrize("name", ["mi355x", "mi300x", "h100"])
@pytest.mark.parametrize(
    "model",
    [
        Normalized(shape=(12, 197, 197), element="f16"),
        Normalized(shape=(128, 768), results=("y", "sum", "scaled")),
    ],
    ids=str,
)
def test_iree_takes_the_tiles(tmp_path: Path, name: str, model: Normalized) -> None:
    target = replace(load_target(name), measurable=True)
    graph, splats = bare(model)
    assert target.row_units is not None
    tiles = row_tiles(graph, target.row_units)
    assert tiles
    for tile in {tiles[0], tiles[-1]}:
        written = with_rows(graph, tile, splats)
        assert isinstance(written, Graph)
        source = tmp_path / "rows.mlir"
        source.write_text(function_text(written, written.inputs, written.outputs, "main"))
        outcome = compile_file(source, tmp_path / "rows.vmfb", target.flags, 120.0)
        assert outcome.ok, (str(tile), outcome.reason)


def attention() -> onnx.ModelProto:
    """Scores of all pairs of tokens, normalized, times their values."""
    f = TensorProto.FLOAT16
    scale = numpy_helper.from_array(np.array(0.125, np.float16), "scale")
    shape = (HEADS, TOKENS, SIZE)
    graph = helper.make_graph(
        [
            helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
            helper.make_node("MatMul", ["q", "kt"], ["scores"]),
            helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
            helper.make_node("Softmax", ["scaled"], ["shares"], axis=-1),
            helper.make_node("MatMul", ["shares", "v"], ["y"]),
        ],
        "main",
        [helper.make_tensor_value_info(n, f, shape) for n in "qkv"],
        [helper.make_tensor_value_info("y", f, shape)],
        [scale],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.long
def test_a_row_of_any_length_is_shared_and_stays_where_it_is(tmp_path: Path) -> None:
    """By prices of compiled kernels; what is written computes the same on this machine's CPU."""
    model, out, file = tmp_path / "rows.onnx", tmp_path / "out.mlir", tmp_path / "plan.json"
    onnx.save(attention(), model)
    options = Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(model, "mi355x", options)
    plan.save(file)
    plan.apply(out)
    (found,) = read_plan(file).functions
    (row,) = (c for c in found.candidates if c.form is Form.ROWS)
    assert row.rows is not None
    assert f"rows by {row.rows}" in row.made_by
    assert re.search(rf"partial_reduction = \[0, {row.rows.step}\]", out.read_text())
    report = plan.report
    assert report.after.pack == report.after.unpack == 0
    assert report.verification is not None
    assert report.verification.passed
    assert "on this machine's CPU" in report.verification.place

    def slowest(side: str) -> float:
        """Of kernels without matrix instructions."""
        return max(k.ns for k in report.kernels if k.side == side and not k.matrix_cycles)

    assert slowest("after") < 0.5 * slowest("before")
    again = layoutopt.optimize(model, "mi355x", options, plan=file)
    assert [c.form for c in again.report.choices] == [c.form for c in report.choices]
    with pytest.raises(InputError, match=r"a schedule of .*, which host takes none of"):
        layoutopt.optimize(model, "host", options, plan=file)
