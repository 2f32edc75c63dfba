"""What is written as MLIR means what the graph means, in all layouts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.candidates.matmul_form import with_matmuls
from layoutopt.ir.copy_folding import simplified
from layoutopt.ir.graph import Gather, Graph, Reshape, Scatter
from layoutopt.ir.reassociation import reassociation
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.mlir.write.reshape import reshape_steps
from layoutopt.mlir.write.sliced_reads import slice_reads
from layoutopt.oracle import evaluate
from layoutopt.rules.propagation import propagate, relayout
from tests.parsing import through_text, verified
from tests.property.layouts import layouts, small_integers
from tests.property.rules.moves import MOVES, reshapes
from tests.property.rules.ops import STRUCTURED, copies, matmuls
from tests.property.rules.quantized import QUANTIZED

ONE_OP = STRUCTURED | MOVES | QUANTIZED


def assert_same(one: Graph, other: Graph) -> None:
    """Both graphs take the same inputs and give the same outputs, by position."""
    arrays = [small_integers(one.types[t], i) for i, t in enumerate(one.inputs)]
    for op in one.ops:
        if isinstance(op, Gather):
            rows = one.types[op.table].shape[op.axis]
            arrays = [a % rows if a.dtype.kind == "i" else a for a in arrays]
    wanted = evaluate(one, dict(zip(one.inputs, arrays, strict=True)))
    found = evaluate(other, dict(zip(other.inputs, arrays, strict=True)))
    for here, there in zip(one.outputs, other.outputs, strict=True):
        assert found[there].dtype == wanted[here].dtype
        assert np.array_equal(found[there], wanted[here])


@pytest.mark.parametrize("kind", ONE_OP)
@given(data=st.data())
@settings(max_examples=15)
def test_text_and_back(kind: str, data: st.DataObject) -> None:
    graph = data.draw(ONE_OP[kind]())
    again = through_text(graph)
    assert_same(graph, again)
    if not any(isinstance(op, Reshape | Scatter) for op in graph.ops):
        assert len(again.ops) == len(slice_reads(graph).ops)
        assert verified(again) == verified(through_text(again))


@pytest.mark.parametrize("kind", ONE_OP)
@given(data=st.data(), as_matmul=st.booleans())
@settings(max_examples=15)
def test_ops_over_memory_forms_are_mlir(kind: str, data: st.DataObject, as_matmul: bool) -> None:
    graph = data.draw(ONE_OP[kind]())
    (op,) = graph.ops
    tensor = data.draw(st.sampled_from([*op.inputs, *op.outputs]))
    chosen = propagate(op, graph.types, tensor, data.draw(layouts(graph.types[tensor].shape)))
    physical = Physical(graph.types)
    if isinstance(chosen, Refusal) or relayout(op, chosen, physical) is not None:
        return
    built = physical.builder.build(
        [physical.tensor(t, chosen[t]) for t in graph.inputs],
        [physical.tensor(t, chosen[t]) for t in graph.outputs],
    )
    smaller = simplified(with_matmuls(built) if as_matmul else built)
    verified(smaller)
    assert_same(built, smaller)
    assert_same(built, through_text(smaller))


@given(matmuls())
@settings(max_examples=150)
def test_with_matmuls_keeps_the_meaning(graph: Graph) -> None:
    small = with_matmuls(graph)
    assert_same(graph, small)
    verified(small)
    assert with_matmuls(small).ops == small.ops


@given(copies())
@settings(max_examples=100)
def test_simplified_keeps_the_meaning(graph: Graph) -> None:
    assert_same(graph, simplified(graph))


@given(reshapes())
@settings(max_examples=150)
def test_reshape_steps_are_collapses_and_expands(graph: Graph) -> None:
    source, result = graph.types[graph.inputs[0]].shape, graph.types[graph.outputs[0]].shape
    at = source
    for shape in reshape_steps(source, result):
        assert shape == at or (
            reassociation(shape, at) is not None or reassociation(at, shape) is not None
        )
        at = shape
    assert at == result


def test_boundaries_that_cross_meet_in_one_dim() -> None:
    assert reshape_steps((4, 6), (6, 4)) == [(24,), (6, 4)]
    assert reshape_steps((2, 12), (6, 4)) == [(2, 3, 4), (6, 4)]
