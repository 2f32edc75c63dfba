"""Attention as exporters write it, planned for a GPU that is not here, and run on this CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import layoutopt
from layoutopt.options import Effort, PlannedSize

HEADS, WIDTH = 4, 64


def attention(rows: int | str, *, mask: bool, nothing_left: bool = False) -> onnx.ModelProto:
    """Four heads in f16; with ``nothing_left``, the mask is a constant that leaves a row nothing.

    Shares of that row are not a number, for which exporters put zeros. ``rows``: of queries and of
    keys, or the name of their open number.
    """
    kind = TensorProto.FLOAT16
    shapes: dict[str, tuple[int | str, ...]]
    shapes = {"q": (1, HEADS, rows, WIDTH), "k": (1, HEADS, WIDTH, rows)}
    shapes["v"] = (1, HEADS, rows, WIDTH)
    nodes = [helper.make_node("MatMul", ["q", "k"], ["products"])]
    scores = "products"
    constants = []
    if nothing_left:
        assert isinstance(rows, int), "a constant mask has a known shape"
        values = np.zeros((1, 1, rows, rows), np.float16)
        values[..., 1, :] = -np.inf
        constants.append(numpy_helper.from_array(values, "mask"))
        constants.append(numpy_helper.from_array(np.array(0, np.float16), "zero"))
    elif mask:
        shapes["mask"] = (1, 1, rows, rows)
    if mask:
        nodes.append(helper.make_node("Add", ["products", "mask"], ["scores"]))
        scores = "scores"
    nodes.append(helper.make_node("Softmax", [scores], ["shares"], axis=-1))
    shares = "shares"
    if nothing_left:
        nodes.append(helper.make_node("IsNaN", ["shares"], ["wrong"]))
        nodes.append(helper.make_node("Where", ["wrong", "zero", "shares"], ["numbers"]))
        shares = "numbers"
    nodes.append(helper.make_node("MatMul", [shares, "v"], ["y"]))
    given = [helper.make_tensor_value_info(n, kind, shape) for n, shape in shapes.items()]
    made = [helper.make_tensor_value_info("y", kind, shapes["v"])]
    graph = helper.make_graph(nodes, "main", given, made, initializer=constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_it_is_one_op_in_whole_tiles(tmp_path: Path) -> None:
    planned(attention(128, mask=True), "contractions-to-attention", tmp_path)


@pytest.mark.long
def test_where_it_would_be_padded_its_parts_are_faster(tmp_path: Path) -> None:
    """Lanes share rows of any length, and matrix instructions multiply what is around them."""
    onnx.save(attention(499, mask=False), tmp_path / "model.onnx")
    options = layoutopt.Options(effort=Effort.QUICK, cache=tmp_path)
    report = layoutopt.optimize(tmp_path / "model.onnx", profile="mi355x", options=options).report
    assert any(choice.form.startswith("rows by") for choice in report.choices)
    before, after = report.before.predicted_ms, report.after.predicted_ms
    assert before is not None
    assert after is not None
    assert after < before / 2
    assert report.verification is not None
    assert report.verification.passed


@pytest.mark.long
def test_rows_that_a_mask_leaves_nothing_of_are_zeros(tmp_path: Path) -> None:
    model = attention(96, mask=True, nothing_left=True)
    planned(model, "contractions-to-attention", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    ("mask", "form"),
    [
        (True, "contractions-to-attention"),
        (False, "contractions-to-attention + pad-attention"),
    ],
    ids=["mask that came", "mask of padding"],
)
def test_open_sizes_are_one_op_in_whole_tiles(mask: bool, form: str, tmp_path: Path) -> None:
    """IREE has no matrix instructions for the op over rows of open size, nor for its parts."""
    sizes = (PlannedSize("s", (96,)),)
    report = planned(attention("s", mask=mask), form, tmp_path, sizes)
    kernels = {
        side: [k for k in report.kernels if k.side == side and k.matrix_cycles]
        for side in ("before", "after")
    }
    assert not kernels["before"]
    assert ["attention" in k.name for k in kernels["after"]] == [True]


def planned(
    model: onnx.ModelProto, form: str, folder: Path, sizes: tuple[PlannedSize, ...] = ()
) -> layoutopt.Report:
    """The report of a plan with one attention in that form, which computes the same."""
    source, written = folder / "model.onnx", folder / "model.opt.mlir"
    onnx.save(model, source)
    options = layoutopt.Options(effort=Effort.QUICK, cache=folder, sizes=sizes)
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
    return plan.report
