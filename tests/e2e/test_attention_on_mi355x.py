"""Attention as exporters write it, planned for a GPU that is not here, and run on this CPU."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import layoutopt
from layoutopt.options import Effort

HEADS, WIDTH = 4, 64


def attention(rows: int, *, mask: bool) -> onnx.ModelProto:
    """Four heads in f16."""
    kind = TensorProto.FLOAT16
    shapes = {"q": (1, HEADS, rows, WIDTH), "k": (1, HEADS, WIDTH, rows)}
    shapes["v"] = (1, HEADS, rows, WIDTH)
    nodes = [helper.make_node("MatMul", ["q", "k"], ["products"])]
    scores = "products"
    if mask:
        shapes["mask"] = (1, 1, rows, rows)
        nodes.append(helper.make_node("Add", ["products", "mask"], ["scores"]))
        scores = "scores"
    nodes.append(helper.make_node("Softmax", [scores], ["shares"], axis=-1))
    nodes.append(helper.make_node("MatMul", ["shares", "v"], ["y"]))
    given = [helper.make_tensor_value_info(n, kind, shape) for n, shape in shapes.items()]
    made = [helper.make_tensor_value_info("y", kind, shapes["v"])]
    graph = helper.make_graph(nodes, "main", given, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.mark.parametrize(
    ("rows", "mask", "form"),
    [
        (128, True, "contractions-to-attention"),
        (99, False, "contractions-to-attention + pad-attention"),
    ],
    ids=["whole tiles", "padded"],
)
def test_it_is_one_op_in_whole_tiles(rows: int, mask: bool, form: str, tmp_path: Path) -> None:
    source, written = tmp_path / "model.onnx", tmp_path / "model.opt.mlir"
    onnx.save(attention(rows, mask=mask), source)
    options = layoutopt.Options(effort=Effort.QUICK, cache=tmp_path)
    plan = layoutopt.optimize(source, profile="mi355x", options=options)
    plan.apply(written)
    assert form in {choice.form for choice in plan.report.choices}
    assert written.read_text().count("= iree_linalg_ext.attention") == 1
    before, after = plan.report.before.predicted_ms, plan.report.after.predicted_ms
    assert before is not None
    assert after is not None
    assert after < before
    assert plan.report.verification is not None
    assert plan.report.verification.passed
