"""ONNX ops that IREE refuses: decomposed, planned, and equal to ONNX's reference in IREE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import layoutopt
from layoutopt.ir.types import Array
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from tests.marks import long_but
from tests.parameters import FLAGS
from tests.sequences import alone

Shape = tuple[int | str, ...]


def model(
    nodes: list[onnx.NodeProto], inputs: dict[str, Shape], weights: dict[str, Array], output: Shape
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)],
        [numpy_helper.from_array(v, n) for n, v in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def drawn(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32) / 4


def attention(size: int | str) -> onnx.ModelProto:
    """A block with rotary positions and grouped queries, as exporters write it since opset 23."""
    make = helper.make_node
    nodes = [
        make("RMSNormalization", ["x", "g"], ["n"], axis=-1),
        *(make("MatMul", ["n", w], [w.upper()]) for w in ("q", "k", "v")),
        *(
            make("RotaryEmbedding", [w, "cos", "sin"], [f"{w}r"], num_heads=heads)
            for w, heads in (("Q", 4), ("K", 2))
        ),
        make("Attention", ["Qr", "Kr", "V"], ["a"], q_num_heads=4, kv_num_heads=2, is_causal=1),
        make("MatMul", ["a", "o"], ["p"]),
        make("Add", ["p", "x"], ["y"]),
    ]
    weights = {
        "g": drawn(64),
        **{"q": drawn(64, 64), "k": drawn(64, 32), "v": drawn(64, 32), "o": drawn(64, 64)},
    }
    angles = {"cos": (1, size, 8), "sin": (1, size, 8)}
    return model(nodes, {"x": (1, size, 64), **angles}, weights, (1, size, 64))


def both_ways() -> onnx.ModelProto:
    """A bidirectional GRU behind the spectrum of a signal."""
    make = helper.make_node
    nodes = [
        make("STFT", ["x", "step", "", "length"], ["s"]),
        make("Slice", ["s", "0", "1", "3"], ["real"]),
        make("Squeeze", ["real", "3"], ["rows"]),
        make("Transpose", ["rows"], ["steps"], perm=[1, 0, 2]),
        make("GRU", ["steps", "w", "r"], ["h"], hidden_size=6, direction="bidirectional"),
        make("ReduceSum", ["h", "1"], ["y"], keepdims=0),
    ]
    weights: dict[str, Array] = {"w": drawn(2, 18, 9), "r": drawn(2, 18, 6)}
    weights |= {"step": np.array(8), "length": np.array(16)}
    weights |= {str(axis): np.array([axis]) for axis in (0, 1, 3)}
    return model(nodes, {"x": (2, 64, 1)}, weights, (7, 2, 6))


def samples_beside_the_image() -> onnx.ModelProto:
    """IREE 3.13 imports this op, and reads outside of the image."""
    make = helper.make_node
    nodes = [
        make("Mul", ["g", "far"], ["places"]),
        make("GridSample", ["x", "places"], ["y"], align_corners=1),
    ]
    weights = {"far": np.array(4, np.float32)}
    return model(nodes, {"x": (2, 3, 5, 7), "g": (2, 4, 6, 2)}, weights, (2, 3, 4, 6))


def several_lengths(steps: int | str) -> onnx.ModelProto:
    """Sequences that end at a step which another input tells; IREE 3.13 runs all to the end."""
    results = {"h": (steps, 2, 3, 6), "last": (2, 3, 6), "cells": (2, 3, 6)}
    node = helper.make_node(
        "LSTM",
        ["x", "w", "r", "", "lengths"],
        [*results],
        hidden_size=6,
        direction="bidirectional",
    )
    made = model([node], {"x": (steps, 3, 5)}, {"w": drawn(2, 24, 5), "r": drawn(2, 24, 6)}, ())
    lengths = helper.make_tensor_value_info("lengths", TensorProto.INT32, [3])
    made.graph.input.append(lengths)
    del made.graph.output[:]
    made.graph.output.extend(
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in results.items()
    )
    return made


CASES: dict[str, tuple[onnx.ModelProto, tuple[str, ...], int]] = {
    "attention": (attention(8), ("Attention", "RMSNormalization", "RotaryEmbedding"), 8),
    "attention of open size": (
        attention("s"),
        ("Attention", "RMSNormalization", "RotaryEmbedding"),
        5,
    ),
    "both ways": (both_ways(), ("GRU", "STFT"), 0),
    "beside the image": (samples_beside_the_image(), ("GridSample",), 0),
}


@pytest.mark.parametrize("case", long_but(["attention"], CASES))
def test_what_iree_refuses_is_planned_and_computes_what_onnx_says(
    case: str, tmp_path: Path
) -> None:
    proto, decomposed, size = CASES[case]
    path, written = tmp_path / "model.onnx", tmp_path / "written.mlirbc"
    onnx.save(proto, str(path))
    options = layoutopt.Options(cache=tmp_path / "cache", compile_candidates=False)
    plan = layoutopt.optimize(path, "mi355x", options)
    assert plan.report.decomposed == decomposed
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    plan.apply(written)
    compiled = tmp_path / "written.vmfb"
    outcome = compile_file(written, compiled, ("--compile-from=input", *FLAGS), 300)
    assert outcome.ok, outcome.reason
    fed = {
        v.name: drawn(*(d.dim_value or size for d in v.type.tensor_type.shape.dim))
        for v in proto.graph.input
    }
    expected: Any = ReferenceEvaluator(proto).run(None, fed)
    (found,) = run_model(compiled, proto.graph.name, [*fed.values()])
    np.testing.assert_allclose(found, expected[0], 1e-4, 1e-4)


@pytest.mark.long
@pytest.mark.parametrize("size", [7, "s"])
def test_sequences_end_where_their_lengths_say(size: int | str, tmp_path: Path) -> None:
    proto = several_lengths(size)
    path, written = tmp_path / "model.onnx", tmp_path / "written.mlirbc"
    onnx.save(proto, str(path))
    options = layoutopt.Options(cache=tmp_path / "cache", compile_candidates=False)
    plan = layoutopt.optimize(path, "mi355x", options)
    assert plan.report.decomposed == ("LSTM",)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    plan.apply(written)
    compiled = tmp_path / "written.vmfb"
    outcome = compile_file(written, compiled, ("--compile-from=input", *FLAGS), 300)
    assert outcome.ok, outcome.reason
    x, lengths = drawn(7, 3, 5), np.array([7, 0, 4], np.int32)
    found = run_model(compiled, "main", [x, lengths])
    (node,) = proto.graph.node
    node.input[4] = ""
    for one, expected in zip(found, alone(proto, x, lengths, batch_first=False), strict=True):
        np.testing.assert_allclose(one, expected, 1e-4, 1e-4)


@pytest.mark.long
def test_a_size_that_an_exporter_left_in_is_open(tmp_path: Path) -> None:
    """Results behind an LSTM are stated to have 64 steps, whatever the sequence has."""
    make = helper.make_node
    nodes = [
        make("LSTM", ["x", "w", "r"], ["h"], hidden_size=6),
        make("Squeeze", ["h", "one"], ["rows"]),
        make("Transpose", ["rows"], ["y"], perm=[1, 0, 2]),
    ]
    weights: dict[str, Array] = {"w": drawn(1, 24, 5), "r": drawn(1, 24, 6), "one": np.array([1])}
    proto = model(nodes, {"x": ("s", 3, 5)}, weights, (3, 64, 6))
    path, written = tmp_path / "model.onnx", tmp_path / "written.mlirbc"
    onnx.save(proto, str(path))
    sizes = (layoutopt.PlannedSize("s", (4, 8)),)
    options = layoutopt.Options(cache=tmp_path / "cache", compile_candidates=False, sizes=sizes)
    plan = layoutopt.optimize(path, "mi355x", options)
    assert plan.report.restated == ("y",)
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    assert {block.runs for block in plan.report.blocks} == {6}
    assert [row.predicted_ms for row in plan.report.at_sizes] == [None, None]  # of all but the loop
    plan.apply(written)
    compiled = tmp_path / "written.vmfb"
    outcome = compile_file(written, compiled, ("--compile-from=input", *FLAGS), 300)
    assert outcome.ok, outcome.reason
    for steps in (1, 7, 64):
        x = drawn(steps, 3, 5)
        expected: Any = ReferenceEvaluator(proto).run(None, {"x": x})
        (found,) = run_model(compiled, "main", [x])
        np.testing.assert_allclose(found, expected[0], 1e-4, 1e-4)
