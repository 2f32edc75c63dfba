"""What convolution rules make of windows, to the last coefficient."""

from __future__ import annotations

from layoutopt.ir.graph import Graph, Slice, Structured
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.strided_unit_filter_to_slice import StridedUnitFilterToSlice
from layoutopt.rules.rewrites.window import convolution
from layoutopt.rules.rule import Expression, apply


def test_a_strided_unit_filter_becomes_a_plain_one() -> None:
    graph = convolution_example(filter_size=1, stride=2)
    found = apply(StridedUnitFilterToSlice(), graph, 0)
    assert isinstance(found, Expression)
    cut, op = found.ops
    assert isinstance(cut, Slice)
    assert isinstance(op, Structured)
    made = convolution(Graph((*graph.types, *found.types), found.ops, graph.inputs, ()), 1)
    assert made is not None
    assert {(w.stride, w.dilation) for w in made.windows} == {(1, 1)}


def test_one_element_is_sliced_without_a_stride() -> None:
    found = apply(StridedUnitFilterToSlice(), convolution_example(1, 3, image=1, margin=2), 0)
    assert isinstance(found, Expression)
    cut = found.ops[0]
    assert isinstance(cut, Slice)
    assert cut.strides == (1, 1, 1, 1)
