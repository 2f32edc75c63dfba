"""Rows that no subgroup divides, normalized on a GPU that is not here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import layoutopt
from layoutopt.options import Effort
from tests.marks import long

ROWS, ROW = 32, 700
F = TensorProto.FLOAT


def classified(kind: str) -> onnx.ModelProto:
    """Scores of classes, and their shares or their norm."""
    rng = np.random.default_rng(0)
    weights = numpy_helper.from_array(rng.standard_normal((64, ROW)).astype(np.float32), "w")
    last = [helper.make_node("Softmax", ["scores"], ["y"], axis=-1)]
    shape = [ROWS, ROW]
    if kind == "sum":
        axes = numpy_helper.from_array(np.array([1]), "axes")
        last = [helper.make_node("ReduceSum", ["scores", "axes"], ["y"], keepdims=0)]
        shape = [ROWS]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["scores"]), *last],
        "main",
        [helper.make_tensor_value_info("x", F, (ROWS, 64))],
        [helper.make_tensor_value_info("y", F, shape)],
        [weights, axes] if kind == "sum" else [weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("kind", [long("softmax"), "sum"])
def test_a_row_is_spread_over_a_subgroup(tmp_path: Path, kind: str) -> None:
    model = tmp_path / "rows.onnx"
    onnx.save(classified(kind), model)
    options = layoutopt.Options(effort=Effort.QUICK, cache=tmp_path / "cache")
    report = layoutopt.optimize(model, "mi355x", options).report
    assert report.verification is not None
    assert report.verification.passed

    def took(side: str) -> tuple[float, int]:
        """Of kernels without matrix instructions the time in all, and the most workgroups."""
        own = [k for k in report.kernels if k.side == side and not k.matrix_cycles]
        return sum(k.ns * k.runs for k in own), max(k.workgroups for k in own)

    (before_ns, before), (after_ns, after) = took("before"), took("after")
    assert before < ROWS, "a lane reduced a row of its own"
    assert after >= ROWS, "now a workgroup does"
    assert after_ns < 0.9 * before_ns
