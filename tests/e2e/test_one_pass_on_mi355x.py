"""Heads of which a part alone is turned, as GPT-NeoX and its kin have them: one dispatch."""

from __future__ import annotations

from pathlib import Path
from typing import Any  # NumPy's element types are known at run time only

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import layoutopt
from layoutopt.options import Effort
from layoutopt.planning.plan_file import read_plan

ROWS, HEADS, WIDTH, TURNED = 24, 4, 32, 8
F = TensorProto.FLOAT


def rotary() -> onnx.ModelProto:
    """Queries cut out of a merged projection, a quarter of each head turned by its place."""
    rng = np.random.default_rng(0)
    angles = np.arange(ROWS)[:, None] * rng.random(TURNED)
    merged = HEADS * WIDTH
    numbers: dict[str, np.ndarray[Any, np.dtype[Any]]] = {
        "w": rng.standard_normal((merged, 2 * merged)).astype(np.float32) / merged,
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "heads": np.array([1, ROWS, HEADS, 2 * WIDTH]),
        "zero": np.array([0]),
        "half": np.array([TURNED // 2]),
        "turned": np.array([TURNED]),
        "width": np.array([WIDTH]),
        "last": np.array([3]),
    }

    def cut(source: str, low: str, high: str, result: str) -> onnx.NodeProto:
        return helper.make_node("Slice", [source, low, high, "last"], [result])

    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["both"]),
        helper.make_node("Reshape", ["both", "heads"], ["parted"]),
        cut("parted", "zero", "width", "mine"),
        helper.make_node("Transpose", ["mine"], ["q"], perm=[0, 2, 1, 3]),
        cut("q", "zero", "turned", "moving"),
        cut("q", "turned", "width", "still"),
        cut("moving", "zero", "half", "first"),
        cut("moving", "half", "turned", "second"),
        helper.make_node("Neg", ["second"], ["back"]),
        helper.make_node("Concat", ["back", "first"], ["aside"], axis=3),
        helper.make_node("Mul", ["moving", "cos"], ["ahead"]),
        helper.make_node("Mul", ["aside", "sin"], ["across"]),
        helper.make_node("Add", ["ahead", "across"], ["there"]),
        helper.make_node("Concat", ["there", "still"], ["whole"], axis=3),
        helper.make_node("Exp", ["whole"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", F, (1, ROWS, merged))],
        [helper.make_tensor_value_info("y", F, (1, HEADS, ROWS, WIDTH))],
        initializer=[numpy_helper.from_array(v, name) for name, v in numbers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_it_is_one_dispatch_behind_the_projection(tmp_path: Path) -> None:
    source, written = tmp_path / "model.onnx", tmp_path / "model.opt.mlir"
    onnx.save(rotary(), source)
    options = layoutopt.Options(effort=Effort.QUICK, cache=tmp_path)
    plan = layoutopt.optimize(source, profile="mi355x", options=options)
    plan.apply(written)
    report = plan.report
    assert "recomputing + in one pass" in {choice.form for choice in report.choices}
    before = report.before.dispatches
    assert before is not None
    assert before > 2
    assert report.after.dispatches == 2
    assert "tensor.concat" not in written.read_text()
    assert report.verification is not None
    assert report.verification.passed
    (found,) = plan.functions
    file = tmp_path / "plan.json"
    plan.save(file)
    (saved,) = read_plan(file).functions
    assert found.name == saved.name
    again = layoutopt.optimize(source, profile="mi355x", options=options, plan=file)
    assert again.report.after.dispatches == 2
