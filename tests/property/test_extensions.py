"""Every extension means the same in every layout that it takes, and in MLIR."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutopt.ir.extension import Extension
from layoutopt.ir.extensions import EXTENSIONS
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import Array, TensorType
from layoutopt.oracle import evaluate
from layoutopt.rules.propagation import propagate, relayout
from tests.extension_inputs import random_inputs
from tests.parsing import through_text
from tests.property.layouts import assert_close, layouts

CASES = [
    pytest.param(op, types, id=f"{kind.mlir_name} {place}")
    for kind in EXTENSIONS
    for place, (op, types) in enumerate(kind.examples())
]


def graph_of(op: Extension, types: tuple[TensorType, ...]) -> Graph:
    return Graph(types, (op,), op.inputs, op.outputs)


@pytest.mark.parametrize(("op", "types"), CASES)
def test_its_text_is_read_back(op: Extension, types: tuple[TensorType, ...]) -> None:
    graph = graph_of(op, types)
    assert through_text(graph).ops == graph.ops


@pytest.mark.parametrize(("op", "types"), CASES)
def test_row_major_tensors_are_taken(op: Extension, types: tuple[TensorType, ...]) -> None:
    for tensor in (*op.inputs, *op.outputs):
        plain = row_major(len(types[tensor].shape))
        found = propagate(op, types, tensor, plain)
        assert not isinstance(found, Refusal)
        assert all(layout.is_row_major for layout in found.values())


@pytest.mark.parametrize(("op", "types"), CASES)
@given(data=st.data())
def test_it_computes_the_same_in_layouts(
    op: Extension, types: tuple[TensorType, ...], data: st.DataObject
) -> None:
    tensor = data.draw(st.sampled_from((*op.inputs, *op.outputs)))
    layout = data.draw(layouts(types[tensor].shape, dividing=False))
    found = propagate(op, types, tensor, layout)
    if isinstance(found, Refusal):
        assert not layout.is_row_major
        return
    assert set(found) == {*op.inputs, *op.outputs}
    check(op, types, dict(found), data.draw(st.integers(0, 99)))


def check(
    op: Extension, types: tuple[TensorType, ...], chosen: dict[int, Layout], seed: int
) -> None:
    physical = Physical(types)
    assert relayout(op, chosen, physical) is None
    given_ = [physical.tensor(t, chosen[t]) for t in op.inputs]
    made = [physical.tensor(t, chosen[t]) for t in op.outputs]
    graph = physical.builder.build(given_, made)
    values = random_inputs(op, types, seed)
    memory = evaluate(
        graph, {p: chosen[t].apply(values[t]) for t, p in zip(op.inputs, given_, strict=True)}
    )
    wanted = evaluate(graph_of(op, types), values)
    for t, p in zip(op.outputs, made, strict=True):
        close(chosen[t].undo(memory[p], types[t].shape), wanted[t])
        if chosen[t].padding is not Padding.ANY:
            close(memory[p], chosen[t].apply(wanted[t]))


def close(found: Array, wanted: Array) -> None:
    """Equal up to rounding."""
    assert found.dtype == wanted.dtype
    if wanted.dtype.kind == "f":
        assert_close(found, wanted)
    else:
        np.testing.assert_array_equal(found, wanted)


def test_a_kind_that_forgets_its_dim_is_found() -> None:
    """The check above can fail."""
    (kind,) = (k for k in EXTENSIONS if k.mlir_name == "linalg.softmax")
    op, types = kind.examples()[0]
    turned = Layout((1, 0))

    class Forgetful(kind):  # type: ignore[misc, valid-type]
        def moved(self, layouts: object) -> Extension:
            return replace(op)

    forgetful = Forgetful(op.sources, op.results, 1)
    with pytest.raises(AssertionError):
        check(forgetful, types, dict.fromkeys((0, 1), turned), 0)
