"""Other runtimes get inputs of the types that the model takes; stand-ins, none is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.errors import InputError
from layoutopt.runtime.peer import check_peers, time_peer

ONNXRUNTIME = """
class Input:
    def __init__(self, name, shape, type):
        self.name, self.shape, self.type = name, shape, type

class SessionOptions:
    pass

class InferenceSession:
    def __init__(self, model, options, providers):
        if open(model).read() != "onnx":
            raise RuntimeError("not a model")

    def get_inputs(self):
        return [Input("ids", [2, 8], "tensor(int64)"), Input("mask", [2, 8], "tensor(bool)"),
                Input("x", [3], "tensor(float)"), Input("h", [3], "tensor(float16)")]

    def run(self, names, feeds):
        types = {name: str(array.dtype) for name, array in feeds.items()}
        assert types == {"ids": "int64", "mask": "bool", "x": "float32", "h": "float16"}, types
        assert set(feeds["ids"].ravel()) == {0, 1}
        assert feeds["ids"].shape == (2, 8)
"""
OPENVINO = """
import numpy as np

class Element:
    def __init__(self, name):
        self.name = name

    def to_dtype(self):
        return np.dtype(self.name)

class Input:
    def __init__(self, shape, name):
        self.shape, self.element_type = shape, Element(name)

class Core:
    def compile_model(self, model, device, options):
        return self

    inputs = [Input((2, 8), "int64"), Input((3,), "float32")]

    def create_infer_request(self):
        return self

    def infer(self, feeds):
        assert [str(array.dtype) for array in feeds] == ["int64", "float32"]
        assert set(feeds[0].ravel()) == {0, 1}
"""


@pytest.fixture(autouse=True)
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "onnxruntime.py").write_text(ONNXRUNTIME)
    (tmp_path / "openvino.py").write_text(OPENVINO)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path.cwd()}")


@pytest.mark.parametrize("name", ["onnxruntime", "openvino"])
def test_inputs_have_the_types_of_the_model(tmp_path: Path, name: str) -> None:
    model = tmp_path / "model.onnx"
    model.write_text("onnx")
    check_peers((name,))
    assert time_peer(name, model, 1) >= 0


def test_a_peer_that_fails(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_text("something else")
    with pytest.raises(InputError, match=r"a model that onnxruntime runs.*not a model"):
        time_peer("onnxruntime", model, 1)
