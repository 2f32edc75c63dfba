"""Each runtime is given the model's inputs in order; stand-ins, none is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from layoutopt.runtime.element import Array, save_array
from layoutopt.runtime.job import ArrayFile
from layoutopt.runtime.peer import PeerCall, PeerRequest, check_peers

ONNXRUNTIME = """
class Input:
    def __init__(self, name):
        self.name = name

class SessionOptions:
    entries = {}

    def add_session_config_entry(self, name, value):
        self.entries[name] = value

class InferenceSession:
    def __init__(self, model, options, providers):
        assert options.intra_op_num_threads == 3
        assert options.entries == {"session.force_spinning_stop": "1"}
        if open(model).read() != "onnx":
            raise RuntimeError("not a model")

    def get_inputs(self):
        return [Input("ids"), Input("x")]

    def run(self, names, feeds):
        return [feeds["x"] + 1, feeds["ids"]]
"""
OPENVINO = """
class Core:
    def compile_model(self, model, device, options):
        assert options["INFERENCE_NUM_THREADS"] == 3
        if open(model).read() != "onnx":
            raise RuntimeError("not a model")
        return self

    outputs = ["first", "second"]

    def create_infer_request(self):
        return self

    def infer(self, feeds):
        ids, x = feeds
        return {"second": ids, "first": x + 1}
"""


@pytest.fixture(autouse=True)
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "onnxruntime.py").write_text(ONNXRUNTIME)
    (tmp_path / "openvino.py").write_text(OPENVINO)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path.cwd()}")


def request(name: str, folder: Path, text: str) -> PeerRequest:
    (folder / "model.onnx").write_text(text)
    files = []
    arrays: tuple[Array, ...] = (np.array([[7, 8]], np.int64), np.ones(3, np.float32))
    for place, array in enumerate(arrays):
        path = folder / f"{place}.npy"
        files.append(ArrayFile(str(path), save_array(path, array)))
    return PeerRequest(name, str(folder / "model.onnx"), 3, tuple(files), str(folder))


@pytest.mark.parametrize("name", ["onnxruntime", "openvino"])
def test_inputs_and_results_keep_their_order(tmp_path: Path, name: str) -> None:
    check_peers((name,))
    with PeerCall(request(name, tmp_path, "onnx")) as call:
        first, second = call.run()
        assert call.time_ns(2) > 0
    assert first.tolist() == [2.0, 2.0, 2.0]
    assert second.tolist() == [[7, 8]]


@pytest.mark.parametrize("name", ["onnxruntime", "openvino"])
def test_a_model_that_it_does_not_take(tmp_path: Path, name: str) -> None:
    with pytest.raises(RuntimeError, match="not a model"):
        PeerCall(request(name, tmp_path, "something else"))
