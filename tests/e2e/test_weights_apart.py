"""Large ONNX models go through IREE's importer without their weights, and have them behind it."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper, helper, numpy_helper

from layoutopt.frontend.onnx import apart, importer
from layoutopt.frontend.onnx.importer import from_onnx
from layoutopt.ir.types import Array
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from tests.marks import long
from tests.parameters import FLAGS

ROWS = np.array([0, 3, 1], np.int64)
BFLOAT16: type = ml_dtypes.bfloat16
DTYPES = (np.float16, BFLOAT16, np.int8, np.uint8, np.int64, np.bool_)


def weight(dtype: type, rows: int = 256) -> Array:
    return np.random.default_rng(0).integers(0, 2, (rows, 128)).astype(dtype)


def made(path: Path, *, beside: bool) -> dict[str, Array]:
    """A model that looks rows up in weights of each type; those weights by the result's name."""
    weights: dict[str, Array] = {
        "large": np.random.default_rng(1).standard_normal((8192, 4096)).astype(np.float16)
    }
    weights |= {f"of{place}": weight(dtype) for place, dtype in enumerate(DTYPES)}
    weights |= {"ones": np.ones((256, 128), np.float32), "no": np.zeros((256, 128), np.bool_)}
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    for kind, dtype in ((TensorProto.FLOAT, np.float32), (TensorProto.BFLOAT16, BFLOAT16)):
        name = f"fields{kind}"
        weights[name] = weight(dtype)
        values = weights[name].astype(np.float32).ravel()
        tensors.append(helper.make_tensor(name, kind, (256, 128), values))
    kinds = {t.name: t.data_type for t in tensors}
    graph = helper.make_graph(
        [helper.make_node("Gather", [n, "rows"], [f"{n}_rows"], axis=0) for n in weights],
        "main",
        [helper.make_tensor_value_info("rows", TensorProto.INT64, (3,))],
        [
            helper.make_tensor_value_info(f"{n}_rows", kinds[n], (3, v.shape[1]))
            for n, v in weights.items()
        ],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    if beside:
        external_data_helper.convert_model_to_external_data(model, location="beside.bin")
    onnx.save(model, str(path))
    return weights


@pytest.mark.parametrize("beside", [long(False), True])
def test_weights_are_what_they_were(
    beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, folder = tmp_path / "model", tmp_path / "folder"
    source.mkdir()
    folder.mkdir()
    weights = made(source / "m.onnx", beside=beside)
    monkeypatch.setattr(importer, "_imported", lambda *_: pytest.fail("imported as a whole"))
    linalg, compiled = tmp_path / "m.mlirbc", tmp_path / "m.vmfb"
    from_onnx(source / "m.onnx", linalg, folder, FLAGS, 60.0)
    assert {p.name for p in source.iterdir()} == {"m.onnx", *["beside.bin"] * beside}
    flags = (*FLAGS, "--compile-from=input")
    assert compile_file(linalg, compiled, flags, 60.0).ok
    outputs = run_model(compiled, "main", [ROWS])
    assert len(outputs) == len(weights)
    for (name, value), got in zip(weights.items(), outputs, strict=True):
        np.testing.assert_array_equal(got, value[ROWS], err_msg=name)


def test_small_models_are_imported_as_a_whole(tmp_path: Path) -> None:
    small = numpy_helper.from_array(weight(np.float32), "w")
    graph = helper.make_graph([], "main", [], [], [small])
    onnx.save(helper.make_model(graph), str(tmp_path / "m.onnx"))
    assert apart.strip(tmp_path / "m.onnx", tmp_path / "s.onnx") == 0
    assert not (tmp_path / "s.onnx").exists()


def test_what_cannot_be_apart_stays(tmp_path: Path) -> None:
    """And no tensor that is smaller than it goes without it: the importer has one threshold."""
    tensors = [
        numpy_helper.from_array(np.ones((4096, 4096, 4), np.int8), "large"),
        numpy_helper.from_array(np.ones((4096, 4096), np.int8), "odd:name"),
        numpy_helper.from_array(np.ones((4096, 4096), np.int8), "same"),
    ]
    graph = helper.make_graph([], "main", [], [], tensors)
    onnx.save(helper.make_model(graph), str(tmp_path / "m.onnx"))
    assert apart.strip(tmp_path / "m.onnx", tmp_path / "s.onnx") == (1 << 24) + 1
    stripped = onnx.load(str(tmp_path / "s.onnx"), load_external_data=False).graph.initializer
    assert [len(t.raw_data) for t in stripped] == [0, 1 << 24, 1 << 24]
