"""Resizes as importers bring them: what the rule makes of each, by the oracle and through IREE."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import layoutopt
from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import Graph
from layoutopt.oracle import evaluate
from layoutopt.rules.rewrites.separate_resize import SeparateResize
from layoutopt.rules.rule import Expression, apply

MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
SHAPE = (1, 3, 6, 8)
SIZES = ((12, 16), (11, 15), (3, 20), (7, 24))


def resizes(
    folder: Path,
    kind: str,
    mode: str,
    sizes: Sequence[tuple[int, int]],
    shape: tuple[int, ...] = SHAPE,
) -> Path:
    """An ONNX model of resizes of one image."""
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    nodes, results, wanted = [], [], []
    for i, pair in enumerate(sizes):
        made = (*shape[:2], *pair)
        wanted.append(numpy_helper.from_array(np.array(made, np.int64), f"s{i}"))
        results.append(helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, made))
        attributes = {"mode": kind, "coordinate_transformation_mode": mode}
        nodes.append(helper.make_node("Resize", ["x", "", "", f"s{i}"], [f"y{i}"], **attributes))
    graph = helper.make_graph(nodes, "resizes", [image], results, wanted)
    opset = helper.make_opsetid("", 19)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), folder / "m.onnx")
    return folder / "m.onnx"


@pytest.mark.parametrize("kind", ["linear", "cubic"])
@pytest.mark.parametrize("mode", MODES)
def test_what_importers_write_is_separated(tmp_path: Path, kind: str, mode: str) -> None:
    (function,) = layoutopt.lift(layoutopt.read(resizes(tmp_path, kind, mode, SIZES), "host"))
    graph = function.graph
    found = [op for op in graph.ops if isinstance(op, ComputedReads)]
    assert len(found) == len(SIZES)
    values = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    for op, sizes in zip(found, SIZES, strict=True):
        alone = Graph(graph.types, (op,), op.inputs, op.outputs)
        ways = apply(SeparateResize(), alone, 0)
        assert isinstance(ways, Expression)
        other = Graph(graph.types + ways.types, ways.ops, op.inputs, op.outputs)
        made, wanted = (evaluate(g, {op.inputs[0]: values})[op.results[0]] for g in (other, alone))
        assert np.allclose(made, wanted, atol=1e-5)
        tables = any(isinstance(o, ComputedReads) for o in ways.ops)
        if sizes != SIZES[-1]:  # that one depends on how far a filter of this kind reaches
            assert tables == ((sizes == (11, 15)) != (mode == "align_corners"))


@pytest.mark.long
def test_a_plan_with_it_gives_the_same_results_through_iree(tmp_path: Path) -> None:
    path = resizes(tmp_path, "cubic", "half_pixel", [(48, 50)], (1, 16, 24, 20))
    plan = layoutopt.optimize(path, options=layoutopt.Options(cache=tmp_path / "cache"))
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert (plan.report.speedup or 0) > 1
    assert str(plan.in_memory()).count("tensor.extract ") <= 8  # 16 as it came
