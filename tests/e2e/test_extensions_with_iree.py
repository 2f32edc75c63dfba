"""Extensions mean what IREE computes, and the rest of a model is planned around them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import layoutopt
from layoutopt.ir.extension import Extension
from layoutopt.ir.extensions import EXTENSIONS
from layoutopt.ir.graph import Graph
from layoutopt.ir.types import TensorType
from layoutopt.mlir.module import parse_module
from layoutopt.mlir.write.emit import function_text
from layoutopt.oracle import evaluate_bounded
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import Caller, ModelCall
from layoutopt.runtime.setting import RunSetting

CASES = [
    pytest.param(op, types, id=f"{kind.mlir_name} {place}")
    for kind in EXTENSIONS
    for place, (op, types) in enumerate(kind.examples())
]
ATTENTION = """
func.func @main(%q: tensor<2x16x32xf32>, %k: tensor<2x16x32xf32>, %v: tensor<2x16x32xf32>)
    -> tensor<2x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x32x16xf32>
  %kt = linalg.transpose ins(%k : tensor<2x16x32xf32>) outs(%e : tensor<2x32x16xf32>)
    permutation = [0, 2, 1]
  %se = tensor.empty() : tensor<2x16x16xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %s = linalg.batch_matmul ins(%q, %kt : tensor<2x16x32xf32>, tensor<2x32x16xf32>)
    outs(%s0 : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x16x16xf32>)
    outs(%se : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %oe = tensor.empty() : tensor<2x16x32xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x16x16xf32>, tensor<2x16x32xf32>)
    outs(%o0 : tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  return %o : tensor<2x16x32xf32>
}
"""


@pytest.mark.parametrize(("op", "types"), CASES)
def test_the_oracle_means_what_iree_computes(
    op: Extension, types: tuple[TensorType, ...], tmp_path: Path
) -> None:
    graph = Graph(types, (op,), op.inputs, op.outputs)
    text = tmp_path / "op.mlir"
    text.write_text(function_text(graph, graph.inputs, graph.outputs, "main"))
    host = load_target("host")
    outcome = compile_file(text, tmp_path / "op.vmfb", host.flags, 120.0)
    assert outcome.ok, outcome.reason
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 30.0):
        values = {
            t: np.asarray(scale * rng.standard_normal(types[t].shape), "float32") for t in op.inputs
        }
        found, errors = evaluate_bounded(graph, values)
        with Caller(RunSetting(host.device)) as caller:
            (results,) = caller.run(
                [ModelCall(tmp_path / "op.vmfb", "main", list(values.values()))]
            )
        assert not results.reason
        for tensor, array in zip(op.outputs, results.arrays, strict=True):
            assert (np.abs(array - found[tensor]) <= errors[tensor]).all()
            assert errors[tensor].max() < 0.1, "the bound says something"


def test_a_model_is_planned_around_a_softmax(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(ATTENTION)
    options = layoutopt.Options(cache=tmp_path / "cache")
    plan = layoutopt.optimize(tmp_path / "model.mlir", options=options)
    report = plan.report
    assert report.barriers == ()
    assert any(choice.op.startswith("softmax") for choice in report.choices)
    assert report.verification is not None
    assert report.verification.passed
    plan.apply(tmp_path / "out.mlir")
    (graph,) = parse_module(tmp_path / "out.mlir").graphs
    assert any(name.startswith("softmax") for name in graph.names)
