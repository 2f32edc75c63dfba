"""Quantized ops of ONNX as IREE imports them: contractions of i8, equal to ONNX's reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from layoutopt.frontend.converted import ConvertedModels
from layoutopt.frontend.source import open_source
from layoutopt.ir.graph import Graph, Opaque, Structured
from layoutopt.ir.types import Array
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from layoutopt.oracle.constant import constant
from layoutopt.profiles.target import load_target

F32, I8, U8, I32 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32
Value = tuple[str, int, tuple[int, ...]]
PARAMETERS = {
    "za": np.uint8(12),
    "zb": np.int8(3),
    "sa": np.float32(0.5),
    "sb": np.float32(0.25),
    "sy": np.float32(64.0),
    "zy": np.uint8(100),
}
CASES: dict[str, tuple[list[onnx.NodeProto], list[Value], Value]] = {
    "MatMulInteger": (
        [helper.make_node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])],
        [("a", U8, (5, 7)), ("b", I8, (7, 4))],
        ("y", I32, (5, 4)),
    ),
    "ConvInteger": (
        [helper.make_node("ConvInteger", ["a", "b", "za"], ["y"], pads=[1, 1, 1, 1])],
        [("a", U8, (1, 3, 6, 6)), ("b", U8, (4, 3, 3, 3))],
        ("y", I32, (1, 4, 6, 6)),
    ),
    "QLinearMatMul": (
        [helper.make_node("QLinearMatMul", ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"], ["y"])],
        [("a", U8, (5, 7)), ("b", I8, (7, 4))],
        ("y", U8, (5, 4)),
    ),
    "DynamicQuantizeLinear": (
        [
            helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "s", "z"]),
            helper.make_node("MatMulInteger", ["a", "b", "z", "zb"], ["y"]),
        ],
        [("x", F32, (5, 7)), ("b", I8, (7, 4))],
        ("y", I32, (5, 4)),
    ),
    "a border of the zero point": (
        [
            helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "s", "z"]),
            helper.make_node("ConvInteger", ["a", "b", "z"], ["y"], pads=[1, 1, 1, 1]),
        ],
        [("x", F32, (1, 3, 6, 6)), ("b", U8, (4, 3, 3, 3))],
        ("y", I32, (1, 4, 6, 6)),
    ),
}


def imported(model: onnx.ModelProto, folder: Path) -> Graph:
    path = folder / "model.onnx"
    onnx.save(model, path)
    flags = load_target("host").flags
    _, module = open_source(path, folder, flags, 300.0, ConvertedModels(folder / "converted"))
    return max(module.graphs, key=lambda graph: len(graph.ops))


@pytest.mark.parametrize("case", CASES)
def test_contractions_of_integers(case: str, tmp_path: Path) -> None:
    nodes, inputs, output = CASES[case]
    read = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*v) for v in inputs],
        [helper.make_tensor_value_info(*output)],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in PARAMETERS.items() if n in read],
    )
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    lifted = imported(model, tmp_path)
    barriers = [op.name for op in lifted.ops if isinstance(op, Opaque)]
    assert all(name.startswith("hal.tensor.") for name in barriers)
    changed = canonical_form(lifted).graph
    contractions = [op for op in changed.ops if isinstance(op, Structured) and op.is_contraction]
    assert [op.body.arguments for op in contractions] == [("i8", "i8", "i32")]
    rng = np.random.default_rng(0)
    fed: dict[str, Array] = {}
    for name, element, shape in inputs:
        dtype = helper.tensor_dtype_to_np_dtype(element)
        numbers = rng.standard_normal(shape) if element == F32 else rng.integers(0, 256, shape)
        fed[name] = numbers.astype(dtype)
    expected = ReferenceEvaluator(model).run(None, fed)
    assert isinstance(expected, list)
    (tensor,) = (op.inputs[0] for op in changed.ops if _named(op, "hal.tensor.barrier"))
    signed = [a.view(np.int8) if a.dtype == np.uint8 else a for a in fed.values()]
    found = evaluate(changed, given(changed, signed))[tensor]
    wanted = np.asarray(expected[0])
    assert np.array_equal(found.view(wanted.dtype), wanted)


def given(graph: Graph, inputs: list[Array]) -> dict[int, Array]:
    """Values of what comes from outside: inputs, constants of one value, results of barriers."""
    imports = [op.outputs[0] for op in graph.ops if _named(op, "hal.tensor.import")]
    values = dict(zip(imports, inputs, strict=True))
    for tensor, text in graph.splats.items():
        kind = graph.types[tensor]
        number = constant(text, kind.element)
        assert number is not None
        values[tensor] = np.full(kind.shape, number)
    for op in graph.ops:
        if isinstance(op, Opaque):
            values |= {t: np.zeros(0) for t in op.outputs if t not in values}
    return values


def _named(op: object, name: str) -> bool:
    return isinstance(op, Opaque) and op.name == name
