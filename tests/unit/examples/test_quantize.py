"""The quantized examples are valid and compute about what the f32 ones do."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from examples import make_models
from examples.quantize import quantized


def convolutions() -> onnx.ModelProto:
    """A dense, a depthwise and a residual convolution with clamps, then a Gemm."""
    graph = make_models.GraphBuilder()
    zero, six = graph.constant(0.0), graph.constant(6.0)
    x = make_models.convolution(graph, "x", (3, 8), kernel=3, stride=2)
    x = graph.apply("Clip", x, zero, six)
    y = make_models.convolution(graph, x, (8, 8), kernel=3, group=8)
    x = graph.apply("Relu", graph.apply("Add", x, y))
    x = graph.apply("Flatten", graph.apply("GlobalAveragePool", x), axis=1)
    weight, bias = graph.weight([5, 8], std=0.3), graph.weight([5], std=0.1)
    return graph.model(
        "small", [1, 3, 8, 8], graph.apply("Gemm", x, weight, bias, transB=1), [1, 5]
    )


def evaluate(model: onnx.ModelProto, x: make_models.Array) -> make_models.Array:
    """The reference knows DequantizeLinear from opset 19 on, with the same meaning."""
    newer = onnx.ModelProto()
    newer.CopyFrom(model)
    newer.opset_import[0].version = 19
    results = ReferenceEvaluator(newer).run(None, {"x": x})
    assert isinstance(results, list)
    return np.asarray(results[0], dtype=np.float32)


@pytest.mark.parametrize("model", [convolutions(), make_models.mlp(8, 32, 2)], ids=["conv", "mlp"])
def test_results_are_close(model: onnx.ModelProto) -> None:
    made = quantized(model)
    onnx.checker.check_model(made, full_check=True)
    kinds = Counter(node.op_type for node in made.graph.node)
    before = Counter(node.op_type for node in model.graph.node)
    contractions = sum(before[kind] for kind in ("Conv", "MatMul", "Gemm"))
    assert kinds["DequantizeLinear"] >= 2 * contractions
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
    here, there = evaluate(model, x), evaluate(made, x)
    assert np.abs(here - there).max() < 0.1 * np.abs(here).max()
    assert (here != there).any()


def test_the_same_model_gives_the_same_bytes() -> None:
    first, second = (quantized(make_models.mlp(8, 32, 1)) for _ in range(2))
    assert first.SerializeToString() == second.SerializeToString()
