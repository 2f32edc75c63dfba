"""Branches whose filters are dilated by as much as the image is wide, as segmentation has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import layoutopt
from layoutopt.options import Effort

SIZE, CHANNELS, FEATURES = 8, 64, 32


def pyramid(path: Path, dilations: tuple[int, ...]) -> Path:
    """Convolutions of one image with 3x3 filters, side by side."""
    random = np.random.default_rng(0)
    shape = (1, CHANNELS, SIZE, SIZE)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    wide = (1, FEATURES * len(dilations), SIZE, SIZE)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, wide)
    nodes, filters = [], []
    for i, d in enumerate(dilations):
        values = random.standard_normal((FEATURES, CHANNELS, 3, 3)).astype(np.float32)
        filters.append(numpy_helper.from_array(values / 24, f"w{i}"))
        around: dict[str, Any] = {"pads": [d] * 4, "dilations": [d] * 2}
        nodes.append(helper.make_node("Conv", ["x", f"w{i}"], [f"b{i}"], **around))
    branches = [f"b{i}" for i in range(len(dilations))]
    nodes.append(helper.make_node("Concat", branches, ["y"], axis=1))
    graph = helper.make_graph(nodes, "pyramid", [x], [y], filters)
    opset = helper.make_opsetid("", 19)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def test_what_reads_padding_alone_is_not_computed(tmp_path: Path) -> None:
    model = pyramid(tmp_path / "m.onnx", (SIZE, SIZE + 4))
    options = layoutopt.Options(cache=tmp_path / "cache", effort=Effort.QUICK)
    plan = layoutopt.optimize(model, options=options)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    forms = [c.form for c in plan.report.choices if c.op.startswith("convolution")]
    assert forms
    assert all("drop-padding-taps" in form for form in forms)
    assert (plan.report.speedup or 0) > 1
