"""A model that cannot be read: one line each."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx.helper import (
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
)

from tests.errors.failing import failure


def test_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    text = failure(capsys, "optimize", "gone.mlir")
    assert text == "gone.mlir: expected a model file, but got no such file; check the path"


def test_unknown_suffix(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_text("x")
    text = failure(capsys, "optimize", str(path))
    assert text == (
        f"{path}: expected a file that ends in .mlir, .mlirbc, .onnx, but "
        "got '.txt'; export the model to ONNX or MLIR"
    )


def test_not_mlir(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_bytes(b"\x7fELF\x02\x01\x01")
    text = failure(capsys, "optimize", str(path))
    assert text.startswith(f"{path}:1:1: expected MLIR that parses, but got ")
    assert "\n" not in text


def test_syntax_error_has_line_and_column(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("func.func @f() {\n  %a = foo.bar\n  return\n}\n")
    text = failure(capsys, "optimize", str(path))
    assert text == (
        f"{path}:2:8: expected MLIR that parses, but got Dialect `foo' not found for "
        "custom op 'foo.bar'; correct the module, or convert it with a matching IREE "
        "version"
    )


def test_no_function(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("module {}\n")
    text = failure(capsys, "optimize", str(path))
    assert text == (
        f"{path}: expected a module with at least one function, but got "
        "none; give the module that holds the model's functions"
    )


def test_onnx_without_the_extra(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    text = failure(capsys, "optimize", str(path))
    assert text == (
        f"{path}: expected the package 'onnx' to read ONNX files, but got "
        "none installed; run `pip install 'layoutopt[onnx]'`"
    )


def refused_onnx(path: Path, kind: str) -> Path:
    """A model of one op that IREE does not import."""
    sizes = (1, 2, 6, 4), (1, 2, 3, 3), (1, 18, 4, 2)
    names = ["x", "w", "offset"][: 3 if kind == "DeformConv" else 1]
    given = [make_tensor_value_info(n, 1, s) for n, s in zip(names, sizes, strict=False)]
    result = [make_tensor_value_info("y", 1, [None] * 4)]
    graph = make_graph([make_node(kind, names, ["y"])], "one", given, result)
    onnx.save(make_model(graph, opset_imports=[make_opsetid("", 20)], ir_version=9), str(path))
    return path


def test_onnx_of_an_op_that_nothing_decomposes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = refused_onnx(tmp_path / "model.onnx", "DeformConv")
    text = failure(capsys, "optimize", str(path))
    assert text.startswith(
        f"{path}: expected a model that IREE brings to linalg, but got failed to "
    )
    assert "\n" not in text


@pytest.mark.parametrize(
    ("kind", "parts", "operands", "attributes", "said"),
    [
        ("LSTM", 4, ["x", "w", "r", "", "", "", "", "p"], {}, "LSTM with peepholes"),
        ("RNN", 1, ["x", "w", "r"], {"clip": 0.5}, "RNN with clip"),
        (
            "LSTM",
            4,
            ["x", "w", "r", "", "n"],
            {"activations": ["Relu", "Tanh", "Tanh"]},
            "LSTM with lengths",
        ),
    ],
)
def test_onnx_that_iree_imports_wrong_is_refused_where_it_cannot_be_decomposed(
    kind: str,
    parts: int,
    operands: list[str],
    attributes: dict[str, Any],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """IREE 3.13 leaves out peepholes, lengths, and the clip of RNN, without a word."""
    path = tmp_path / "model.onnx"
    shapes = {"x": (2, 1, 4), "w": (1, 3 * parts, 4), "r": (1, 3 * parts, 3), "p": (1, 9)}
    given = [make_tensor_value_info(n, 1, s) for n, s in shapes.items() if n in operands]
    if "n" in operands:
        given.append(make_tensor_value_info("n", 6, (1,)))
    cells = {"h": (1, 1, 3), "c": (1, 1, 3)} if kind == "LSTM" else {}
    results = {"y": (2, 1, 1, 3)} | cells
    node = make_node(kind, operands, [*results], hidden_size=3, **attributes)
    outputs = [make_tensor_value_info(n, 1, s) for n, s in results.items()]
    graph = make_graph([node], "one", given, outputs)
    onnx.save(make_model(graph, opset_imports=[make_opsetid("", 20)], ir_version=9), str(path))
    text = failure(capsys, "optimize", str(path))
    assert text == (
        f"{path}: expected a model that IREE brings to linalg, but got {said}, which "
        "it imports wrong; try `iree-compile --compile-to=input` on it"
    )


def test_onnx_that_cannot_be_decomposed_without_the_extra(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = refused_onnx(tmp_path / "model.onnx", "DFT")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "onnxscript" else find(name)
    )
    text = failure(capsys, "optimize", str(path))
    assert text == (
        f"{path}: expected the package 'onnxscript' to decompose DFT, which IREE does not import, "
        "but got none installed; run `pip install 'layoutopt[onnx]'`"
    )


def test_bytecode_that_ends_early(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.mlirbc"
    path.write_bytes(b"ML\xefR\x0dMLIR\x00")
    text = failure(capsys, "optimize", str(path))
    assert text.startswith(f"{path}: expected MLIR that parses, but got ")
    assert "\n" not in text


def test_text_that_is_nested_too_deep(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "deep.mlir"
    path.write_text("func.func @f(%a: " + "tuple<" * 100_000 + ">" * 100_000 + ") { return }")
    text = failure(capsys, "optimize", str(path))
    assert text == (
        f"{path}: expected MLIR that parses, but got iree-opt crashed (SIGSEGV); correct the "
        "module, or convert it with a matching IREE version"
    )


@pytest.mark.parametrize(
    "transpose",
    [
        "linalg.transpose ins(%a : tensor<f32>) outs(%b : tensor<f32>) permutation = []",
        """"linalg.transpose"(%a, %b) <{permutation = array<i64>}> ({
          ^bb0(%x: f32, %y: f32):
            linalg.yield %x : f32
        }) : (tensor<f32>, tensor<f32>) -> tensor<f32>""",
    ],
)
def test_what_the_parser_crashes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, transpose: str
) -> None:
    """A transpose of a tensor without dims, in IREE 3.13: a process of its own reads it."""
    path = tmp_path / "scalar.mlir"
    path.write_text(
        "func.func @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
        f"  %r = {transpose}\n  return %r : tensor<f32>\n}}\n"
    )
    text = failure(capsys, "optimize", str(path))
    assert text == (
        f"{path}: expected MLIR that parses, but got iree-opt crashed (SIGSEGV); correct the "
        "module, or convert it with a matching IREE version"
    )


REPEATED = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %r = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0]
      : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


def test_sizes_that_nothing_proves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(REPEATED)
    text = failure(capsys, "optimize", str(path))
    assert text == (
        f"{path}:5:8: expected dim 0 of what dynamic_broadcast_in_dim reads to be 1, or the size "
        "that it is repeated to, for certain, but got arg0.0, which is repeated to arg1.0; state "
        "it in the model, as constraints of the symbolic sizes do, or give the size"
    )
