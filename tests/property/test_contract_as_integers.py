"""Contractions of quantized tensors are contractions of integers, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.types import Array, numpy_dtype
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from tests.parsing import verified
from tests.property.rules.quantized import dequantized_contractions, zero_point_ops


def any_integers(graph: Graph) -> dict[int, Array]:
    """Integers of the whole range of their types: sums wrap around."""
    values: dict[int, Array] = {}
    for tensor in graph.inputs:
        kind = graph.types[tensor]
        dtype: Any = numpy_dtype(kind.element)
        limits = np.iinfo(dtype)
        rng = np.random.default_rng(tensor)
        values[tensor] = rng.integers(limits.min, limits.max + 1, kind.shape, dtype=dtype)
    return values


def assert_integer_contraction(graph: Graph) -> Graph:
    """One contraction of signed integers, valid MLIR, and the results as they were."""
    changed = canonical_form(graph).graph
    ops = [op for op in changed.ops if isinstance(op, Structured) and op.is_contraction]
    assert [op.body.arguments for op in ops] == [("i8", "i8", "i32")]
    sums = [op for op in changed.ops if isinstance(op, Structured) and op.reduction_dims]
    assert len(sums) <= 3
    verified(changed)
    values = any_integers(graph)
    here, there = evaluate(graph, values), evaluate(changed, values)
    for tensor in graph.outputs:
        assert here[tensor].dtype == there[tensor].dtype
        assert np.array_equal(here[tensor], there[tensor])
    return changed


@given(zero_point_ops())
@settings(max_examples=300)
def test_zero_points_are_taken_out_of_a_contraction(graph: Graph) -> None:
    assert_integer_contraction(graph)


@given(dequantized_contractions())
@settings(max_examples=300)
def test_a_contraction_of_dequantized_tensors_is_one_of_their_integers(graph: Graph) -> None:
    assume(not seems_packed(graph))
    assert_integer_contraction(graph)


def seems_packed(graph: Graph) -> bool:
    """Whether a convolution of an image of one row has the very maps of a packed contraction.

    It is taken for one; zero points along its outer dims then keep it as it came.
    """
    return any(r.rule == "bubble-up-unpack" for r in canonical_form(graph).refusals)


@pytest.mark.parametrize("strategy", [zero_point_ops, dequantized_contractions])
@given(data=st.data())
@settings(max_examples=30)
def test_the_form_is_reached_at_once(strategy: Any, data: st.DataObject) -> None:
    changed = canonical_form(data.draw(strategy())).graph
    assert canonical_form(changed).graph is changed
