"""Shapes that a model states and its ops contradict, and those that stay as they are stated."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from layoutopt.frontend.onnx.restate import write

Shape = tuple[int | str | None, ...]


def shape_of(value: onnx.ValueInfoProto) -> Shape:
    dims = value.type.tensor_type.shape.dim
    return tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in dims)


def chain(stated: Shape, output: Shape) -> onnx.ModelProto:
    """``y = transpose(exp(x))`` with what is said of ``exp(x)`` and ``y``."""
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Transpose", ["e"], ["y"], perm=[1, 0]),
    ]
    graph = helper.make_graph(
        nodes,
        "main",
        [info("x", TensorProto.FLOAT, ("s", 4))],
        [info("y", TensorProto.FLOAT, output)],
        value_info=[info("e", TensorProto.FLOAT, stated)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.mark.parametrize(
    ("stated", "output", "changed"),
    [
        (("s", 4), (4, "s"), ()),
        (("s", 4), (4, None), ()),
        (("other", 4), (4, "rows"), ()),
        ((64, 4), (4, 64), ("e", "y")),
        (("s", 4), (4, 64), ("y",)),
        (("s", 5), (4, "s"), ("e",)),
        (("s", 4, 1), (4, "s"), ("e",)),
    ],
)
def test_what_is_contradicted_is_restated(
    tmp_path: Path, stated: Shape, output: Shape, changed: tuple[str, ...]
) -> None:
    given, made = tmp_path / "given.onnx", tmp_path / "made.onnx"
    onnx.save(chain(stated, output), str(given))
    assert write(given, made) == changed
    assert made.exists() == bool(changed)
    if changed:
        graph = onnx.load(str(made)).graph
        found = {v.name: shape_of(v) for v in (*graph.value_info, *graph.output)}
        right: dict[str, Shape] = {"e": ("s", 4), "y": (4, "s")}
        kept = {"e": stated, "y": output}
        assert found == {name: (right if name in changed else kept)[name] for name in right}


def test_a_dim_that_nothing_contradicts_stays(tmp_path: Path) -> None:
    """Of a result whose second dim no inference knows."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Compress", ["x", "mask"], ["y"], axis=1)],
        "main",
        [info("x", TensorProto.FLOAT, ("s", 4)), info("mask", TensorProto.BOOL, (4,))],
        [info("y", TensorProto.FLOAT, (64, 2))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    given, made = tmp_path / "given.onnx", tmp_path / "made.onnx"
    onnx.save(model, str(given))
    assert write(given, made) == ("y",)
    assert shape_of(onnx.load(str(made)).graph.output[0]) == ("s", 2)
