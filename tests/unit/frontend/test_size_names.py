"""Names of open sizes in ONNX files."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from layoutopt.frontend.size_names import size_names
from layoutopt.ir.graph import Graph, GraphBuilder, Slice
from layoutopt.ir.planned_sizes import open_sizes, renamed_sizes
from layoutopt.ir.size import symbol
from layoutopt.ir.types import TensorType

OPEN = Graph(
    (
        TensorType((symbol("arg0.0", 0, 100, planned=4), 8), "f32"),
        TensorType((symbol("arg1.0", 2, 64, planned=4), symbol("arg1.1", 0, 9, planned=3)), "f32"),
    ),
    (),
    (0, 1),
    (),
)


def model(folder: Path) -> Path:
    given = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8]),
        helper.make_tensor_value_info("w", TensorProto.FLOAT, ["ignored"]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "s0 + 1"]),
    ]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2], [0.0, 1.0])
    made = [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", 8])]
    node = helper.make_node("Relu", ["x"], ["z"])
    path = folder / "model.onnx"
    onnx.save(helper.make_model(helper.make_graph([node], "g", given, made, [weight])), path)
    return path


def test_inputs_are_counted_without_weights(tmp_path: Path) -> None:
    assert size_names(model(tmp_path), [OPEN]) == {"arg0.0": "batch", "arg1.0": "batch"}


def test_files_without_names_have_none(tmp_path: Path) -> None:
    assert size_names(tmp_path / "model.mlir", [OPEN]) == {}
    assert size_names(model(tmp_path), [Graph((), (), (), ())]) == {}


def test_sizes_of_one_name_are_one_size() -> None:
    graph = renamed_sizes(OPEN, {"arg0.0": "batch", "arg1.0": "batch"})
    assert [(s.name, s.low, s.high) for s in open_sizes(graph)] == [
        ("arg1.1", 0, 9),
        ("batch", 2, 64),
    ]
    assert graph.types[0].shape[0] == graph.types[1].shape[0]


def test_places_are_renamed_as_sizes_are() -> None:
    """A place that no tensor has as a size, and a size that is so many times a part of it."""
    builder = GraphBuilder()
    part = symbol("arg0.0", 0, 80, divisor=8, planned=8)
    x, y = builder.tensor((part, 8), "f32"), builder.tensor((part, 1), "f32")
    builder.add(Slice(x, y, (0, symbol("offset2", 0, 7)), (1, 1)))
    graph = renamed_sizes(builder.build((x,), (y,)), {"arg0.0": "batch", "offset2": "place"})
    assert [s.name for s in open_sizes(graph)] == ["batch/8"]
    (op,) = graph.ops
    assert isinstance(op, Slice)
    assert str(op.offsets[1]) == "place"


@pytest.mark.parametrize("names", [{}, {"arg7.0": "other"}])
def test_other_names_change_nothing(names: dict[str, str]) -> None:
    assert open_sizes(renamed_sizes(OPEN, names)) == open_sizes(OPEN)
