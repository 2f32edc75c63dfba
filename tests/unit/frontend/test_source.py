"""Opening models: what is converted, and what is taken from an earlier conversion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from layoutopt.errors import InputError
from layoutopt.frontend import source as opening
from layoutopt.frontend.converted import ConvertedModels
from layoutopt.frontend.source import Source, open_source
from layoutopt.mlir.module import parse_module
from layoutopt.planning.plan_file import fingerprint

PLAIN = """
func.func @plain(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %y = linalg.transpose ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  return %y : tensor<8x4xf32>
}
"""
TORCH = """
func.func @relu(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> {
  %y = torch.aten.relu %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  return %y : !torch.vtensor<[2,3],f32>
}
"""
FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
Opened = Callable[[Path], Source]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    models = ConvertedModels(tmp_path / "converted")
    count = 0

    def open_it(model: Path) -> Source:
        nonlocal count
        count += 1
        folder = tmp_path / f"job{count}"
        folder.mkdir()
        source, module = open_source(model, folder, FLAGS, 60.0, models)
        assert module.blocks
        return source

    return open_it


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def save_onnx(path: Path, weight: float, location: str | None = None) -> Path:
    """y = x * weight, with the weight in a file beside the model where a location is given."""
    weights = numpy_helper.from_array(np.full((64, 64), weight, np.float32), "w")
    kind = (onnx.TensorProto.FLOAT, [64, 64])
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        "scale",
        [helper.make_tensor_value_info("x", *kind)],
        [helper.make_tensor_value_info("y", *kind)],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if location is not None:
        (path.parent / location).unlink(missing_ok=True)
    onnx.save(
        model,
        str(path),
        save_as_external_data=location is not None,
        location=location,
        size_threshold=0,
    )
    return path


def no_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise AssertionError("expected no conversion")

    for name in ("from_onnx", "to_linalg", "input_dialect"):
        monkeypatch.setattr(opening, name, fail)


def test_linalg_is_parsed_as_text_once(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = written(tmp_path / "plain.mlir", PLAIN)
    first = opened(model)
    assert not first.from_input_phase
    no_conversion(monkeypatch)
    second = opened(model)
    assert second.path.read_bytes() == first.path.read_bytes()
    assert not second.from_input_phase


def test_other_dialects_are_converted_once(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = written(tmp_path / "relu.mlir", TORCH)
    first = opened(model)
    assert first.phase_flags == ("--compile-from=input",)
    no_conversion(monkeypatch)
    assert opened(model).from_input_phase


def test_a_changed_model_is_converted_again(opened: Opened, tmp_path: Path) -> None:
    model = written(tmp_path / "plain.mlir", PLAIN)
    first = opened(model)
    written(model, PLAIN.replace("@plain", "@other"))
    assert b"other" in opened(model).path.read_bytes()
    assert b"other" not in first.path.read_bytes()


def test_weights_beside_an_onnx_model_count(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_onnx(tmp_path / "scale.onnx", 1.0, "scale.bin")
    first = opened(model).path.read_bytes()
    same = model.read_bytes()
    save_onnx(model, 2.0, "scale.bin")
    assert model.read_bytes() == same
    second = opened(model).path.read_bytes()
    assert second != first
    no_conversion(monkeypatch)
    assert opened(model).path.read_bytes() == second


def test_an_error_is_reported_each_time(opened: Opened, tmp_path: Path) -> None:
    model = written(tmp_path / "bad.mlir", PLAIN.replace("[1, 0]", "[0, 0]"))
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            opened(model)
        assert str(caught.value).startswith(f"{model}:4:")
    assert not (tmp_path / "converted").exists()


LIFTED = """
#id = affine_map<(m, n) -> (m, n)>
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<4x8xf32>
  %t = tensor.extract %x[%c2, %c2] : tensor<4x8xf32>
  %h = arith.addf %t, %t : f32
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.mulf %a, %t : f32
    %p = arith.addf %q, %h : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
"""


def test_every_reading_of_a_model_gives_the_same_graphs(tmp_path: Path) -> None:
    """Lifting puts ops into the module: what is kept and read again must not hold them."""
    model = written(tmp_path / "model.mlir", LIFTED)
    kept = ConvertedModels(tmp_path / "converted")
    seen = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        source, module = open_source(model, folder, FLAGS, 60.0, kept)
        seen += [module.graphs, parse_module(source.path).graphs]
    assert len({tuple(map(fingerprint, graphs)) for graphs in seen}) == 1
    assert fingerprint(seen[0][0]) == fingerprint(parse_module(model).graphs[0])
