"""Decomposed ops against the results that ONNX gives for them, and against NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

from layoutopt.frontend.onnx.decompose import write
from layoutopt.ir.types import Array
from tests.sequences import alone

LAYERS = {"RNN": 1, "GRU": 3, "LSTM": 4}
"""Parts of the weights of each kind."""


@cache
def cases() -> tuple[Any, ...]:
    """The cases by which ONNX defines its ops: a model of one node, inputs, results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(collect_testcases(None))


def of_kind(kind: str) -> Iterator[Any]:
    for case in cases():
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type == kind:
            yield case


def agree(found: Any, expected: Any, name: str) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            np.asarray(one, np.float64), np.asarray(other, np.float64), 2e-3, 2e-3, err_msg=name
        )


@pytest.mark.parametrize(
    ("kind", "at_least"),
    [
        ("Attention", 40),
        ("RMSNormalization", 10),
        ("RotaryEmbedding", 5),
        ("AffineGrid", 4),
        ("DFT", 4),
        ("GridSample", 8),
        ("RNN", 2),
        ("GRU", 2),
        ("LSTM", 2),
    ],
)
def test_what_is_decomposed_computes_what_onnx_says(
    kind: str, at_least: int, tmp_path: Path
) -> None:
    changed = 0
    for case in of_kind(kind):
        model, output = tmp_path / "model.onnx", tmp_path / "decomposed.onnx"
        onnx.save(case.model, str(model))
        if kind not in write(model, output, tmp_path, kind):
            continue
        changed += 1
        names = [value.name for value in case.model.graph.input]
        for given_inputs, expected in case.data_sets:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                inputs = dict(zip(names, given_inputs, strict=True))
                found = ReferenceEvaluator(str(output)).run(None, inputs)
            agree(found, expected, case.name)
    assert changed >= at_least


@dataclass(frozen=True)
class Node:
    """A model of one node: its own inputs, and constants that its other operands are."""

    kind: str
    inputs: dict[str, tuple[int, ...]]
    constants: dict[str, Array | None]
    results: int
    attributes: dict[str, Any]
    opset: int = 20

    def model(self) -> onnx.ModelProto:
        operands = [
            *self.inputs,
            *(name if v is not None else "" for name, v in self.constants.items()),
        ]
        results = [f"y{i}" for i in range(self.results)]
        graph = helper.make_graph(
            [helper.make_node(self.kind, operands, results, **self.attributes)],
            "one",
            [
                helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
                for n, s in self.inputs.items()
            ],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
            [numpy_helper.from_array(v, n) for n, v in self.constants.items() if v is not None],
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9
        )

    def runs(self, folder: Path, seed: int) -> tuple[Any, Any, onnx.ModelProto]:
        """Results of the decomposed model and of the model, and the former."""
        random = np.random.default_rng(seed)
        model, output = folder / "model.onnx", folder / "decomposed.onnx"
        onnx.save(self.model(), str(model))
        assert write(model, output, folder, self.kind) == (self.kind,)
        inputs = {n: random.standard_normal(s).astype(np.float32) for n, s in self.inputs.items()}
        first, second = (ReferenceEvaluator(str(m)).run(None, inputs) for m in (output, model))
        return first, second, onnx.load(str(output))


def recurrent(kind: str, direction: str, batch_first: bool, seed: int) -> Node:
    random = np.random.default_rng(seed)
    time, batch, size, hidden = random.integers(1, 5, 4).tolist()
    parts, both = LAYERS[kind], 2 if direction == "bidirectional" else 1

    def drawn(*shape: int) -> Array:
        return random.standard_normal(shape).astype(np.float32)

    state = (batch, both, hidden) if batch_first else (both, batch, hidden)
    states = {"h": drawn(*state)} | ({"c": drawn(*state)} if kind == "LSTM" else {})
    constants: dict[str, Array | None] = {
        "w": drawn(both, parts * hidden, size),
        "r": drawn(both, parts * hidden, hidden),
        "b": drawn(both, 2 * parts * hidden),
        "lengths": None,
        **states,
    }
    if kind == "LSTM":
        constants["p"] = drawn(both, 3 * hidden)
    attributes = {"hidden_size": hidden, "direction": direction, "layout": int(batch_first)}
    if kind == "GRU":
        attributes["linear_before_reset"] = int(random.integers(2))
    sequence = (batch, time, size) if batch_first else (time, batch, size)
    return Node(kind, {"x": sequence}, constants, 1 + len(states), attributes)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", LAYERS)
def test_recurrent_nodes_of_any_direction_run_forward_and_time_first(
    kind: str, direction: str, batch_first: bool, seed: int, tmp_path: Path
) -> None:
    if direction == "forward" and not batch_first:
        return
    node = recurrent(kind, direction, batch_first, seed)
    found, expected, made = node.runs(tmp_path, seed)
    agree(found, expected, f"{kind} {direction}")
    for inner in made.graph.node:
        if inner.op_type == kind:
            told = {a.name: helper.get_attribute_value(a) for a in inner.attribute}
            assert "layout" not in told
            assert "direction" not in told


def with_lengths(node: Node, lengths: Array) -> Node:
    return replace(node, constants=node.constants | {"lengths": lengths})


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", LAYERS)
def test_sequences_of_several_lengths_are_as_if_each_ran_alone(
    kind: str, direction: str, batch_first: bool, seed: int, tmp_path: Path
) -> None:
    random = np.random.default_rng(seed)
    node = recurrent(kind, direction, batch_first, seed)
    node.constants.pop("p", None)
    (sequence,) = node.inputs.values()
    batch, time = sequence[:2] if batch_first else sequence[1::-1]
    lengths = random.integers(0, time + 1, batch).astype(np.int32)
    model, output = tmp_path / "model.onnx", tmp_path / "decomposed.onnx"
    onnx.save(with_lengths(node, lengths).model(), str(model))
    assert write(model, output, tmp_path, "") == (kind,)
    x = random.standard_normal(sequence).astype(np.float32)
    with np.errstate(over="ignore"):  # of the exponential in a sigmoid that is zero
        found = ReferenceEvaluator(str(output)).run(None, {"x": x})
    agree(found, alone(node.model(), x, lengths, batch_first), f"{kind} {direction} {lengths}")


def test_lengths_that_are_all_of_the_sequence_are_left_out(tmp_path: Path) -> None:
    node = recurrent("GRU", "forward", False, 1)
    time, batch, _ = node.inputs["x"]
    model, output = tmp_path / "model.onnx", tmp_path / "decomposed.onnx"
    onnx.save(with_lengths(node, np.full(batch, time, np.int32)).model(), str(model))
    assert write(model, output, tmp_path, "") == ("GRU",)
    (made,) = (n for n in onnx.load(str(output)).graph.node if n.op_type == "GRU")
    assert not made.input[4]
    assert not any(n.op_type == "Where" for n in onnx.load(str(output)).graph.node)


def test_cells_that_cannot_be_kept_are_not_decomposed(tmp_path: Path) -> None:
    node = recurrent("LSTM", "forward", False, 1)
    node.constants.pop("p")
    time, batch, _ = node.inputs["x"]
    node.attributes["activations"] = ["Relu", "Tanh", "Tanh"]
    lengths = np.arange(batch, dtype=np.int32) % time
    for results, decomposed in ((3, ()), (2, ("LSTM",))):
        one = replace(with_lengths(node, lengths), results=results)
        model, output = tmp_path / "model.onnx", tmp_path / "decomposed.onnx"
        onnx.save(one.model(), str(model))
        assert write(model, output, tmp_path, "") == decomposed


@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize(("length", "step"), [(8, 3), (7, 7), (16, 4)])
def test_a_short_time_transform_is_a_strided_convolution(
    length: int, step: int, onesided: int, window: bool, tmp_path: Path
) -> None:
    constants: dict[str, Array | None] = {
        "step": np.array(step),
        "window": np.hanning(length).astype(np.float32) if window else None,
        "length": np.array(length),
    }
    node = Node("STFT", {"x": (2, 40, 1)}, constants, 1, {"onesided": onesided})
    found, expected, made = node.runs(tmp_path, length)
    agree(found, expected, "STFT")
    assert [n.op_type for n in made.graph.node].count("Conv") == 1


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    shape=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    parts=st.integers(1, 2),
    axis=st.integers(0, 3),
    length=st.integers(1, 9) | st.none(),
    way=st.sampled_from([(0, 0), (0, 1), (1, 0)]),
)
def test_a_fourier_transform_is_a_product_with_a_matrix(
    shape: list[int],
    parts: int,
    axis: int,
    length: int | None,
    way: tuple[int, int],
    tmp_path: Path,
) -> None:
    inverse, onesided = way
    axis %= len(shape)
    if onesided:
        parts = 1
    constants: dict[str, Array | None] = {
        "length": None if length is None else np.array(length),
        "axis": np.array(axis),
    }
    given_shape = (*shape, parts)
    node = Node("DFT", {"x": given_shape}, constants, 1, {"inverse": inverse, "onesided": onesided})
    model, output = tmp_path / "model.onnx", tmp_path / "decomposed.onnx"
    onnx.save(node.model(), str(model))
    assert write(model, output, tmp_path, "DFT") == ("DFT",)
    x = np.random.default_rng(0).standard_normal(given_shape).astype(np.float32)
    number = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    expected = (np.fft.ifft if inverse else np.fft.fft)(number, length, axis)
    if onesided:
        expected = expected.take(range(expected.shape[axis] // 2 + 1), axis)
    found: Any
    (found,) = ReferenceEvaluator(str(output)).run(None, {"x": x})
    np.testing.assert_allclose(found, np.stack([expected.real, expected.imag], -1), 1e-4, 1e-4)
