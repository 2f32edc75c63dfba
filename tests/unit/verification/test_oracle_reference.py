"""The oracle in place of an original that IREE does not compile: at any size, of any import."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from layoutopt.frontend.converted import ConvertedModels
from layoutopt.frontend.source import open_source
from layoutopt.profiles.target import load_target
from layoutopt.runtime.element import Array
from layoutopt.verification.comparing import Run
from layoutopt.verification.oracle_reference import oracle_run

PLUS_SIZE = """
func.func @f(%x: tensor<?x4xf32>, %unused: tensor<2xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %i = arith.index_cast %n : index to i64
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.sitofp %i : i64 to f32
      %z = arith.addf %a, %s : f32
      linalg.yield %z : f32
  } -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
"""


def reference(model: Path, folder: Path) -> Run:
    source, _ = open_source(
        model, folder, load_target("host").flags, 60.0, ConvertedModels(folder / "converted")
    )
    return oracle_run(source, folder, (), 60.0)


def given(rows: int) -> Array:
    return np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)


@pytest.fixture
def of_mlir(tmp_path: Path) -> Run:
    model = tmp_path / "model.mlir"
    model.write_text(PLUS_SIZE)
    return reference(model, tmp_path)


@pytest.fixture
def of_onnx(tmp_path: Path) -> Run:
    """y = x + the first size of x: IREE imports it as two functions, one for the other."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"], start=0, end=1),
        helper.make_node("Cast", ["shape"], ["size"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Add", ["x", "size"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "f",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 4])],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return reference(path, tmp_path)


def test_sizes_are_those_of_the_inputs(of_mlir: Run) -> None:
    unused = np.zeros(2, np.float32)
    rows = (1, 3, 8)
    found = of_mlir("f", [(given(n), unused) for n in rows])
    for n, results in zip(rows, found, strict=True):
        assert not results.reason
        np.testing.assert_array_equal(results.arrays[0], given(n) + n)


def test_an_imported_function_is_found_by_the_name_that_a_caller_uses(of_onnx: Run) -> None:
    (results,) = of_onnx("f", [(given(5),)])
    assert not results.reason
    np.testing.assert_array_equal(results.arrays[0], given(5) + 5)


def test_what_is_not_known_is_a_reason_and_no_error(tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    unknown = PLUS_SIZE.replace("ins(%x :", "ins(%b :").replace(
        "%c0 = ", "%b = util.optimization_barrier %x : tensor<?x4xf32>\n  %c0 = "
    )
    model.write_text(unknown)
    run = reference(model, tmp_path)
    (results,) = run("f", [(given(2), np.zeros(2, np.float32))])
    assert results.reason == "the oracle does not know util.optimization_barrier"
