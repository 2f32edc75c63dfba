"""Strided convolutions by pairs of pixels: where they are tried, and what they read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutopt.candidates.explore import explore
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, Pad, Structured
from layoutopt.ir.scalar import contraction_body
from layoutopt.ir.size import symbol
from layoutopt.options import Objective
from layoutopt.oracle import evaluate
from layoutopt.profiles.target import load_target
from layoutopt.rules.rewrites.convolution_to_im2col import ConvolutionToIm2col
from layoutopt.rules.rewrites.convolution_to_space_to_depth import ConvolutionToSpaceToDepth
from layoutopt.rules.rewrites.examples import convolution_example, depthwise_example
from layoutopt.rules.rule import Expression, apply
from tests.property.layouts import small_integers

RULE = ConvolutionToSpaceToDepth()
STRIDED = convolution_example(filter_size=3, stride=2)
(OWN,) = (op for op in STRIDED.ops if isinstance(op, Structured))


def rewritten(graph: Graph, op: int = 0) -> Expression:
    found = apply(RULE, graph, op)
    assert isinstance(found, Expression)
    return found


@pytest.mark.parametrize(
    ("target", "objective", "tried"),
    [
        ("x86-64-avx512", Objective.LATENCY, True),
        ("x86-64-avx512", Objective.CONVERSIONS, False),
        ("mi355x", Objective.LATENCY, False),
    ],
)
def test_it_is_tried_where_tiles_of_registers_are(
    target: str, objective: Objective, tried: bool
) -> None:
    space = explore(STRIDED, load_target(target), objective)
    assert (RULE.name in {name for names in space.egraph.rule for name in names}) == tried


def padded(anything: bool) -> Graph:
    """The strided convolution behind a pad of its image."""
    builder = GraphBuilder()
    n, c, h, w = STRIDED.types[0].shape
    inner = builder.tensor((n, c, h - 2, w - 2), "f32")
    x, k, y = (builder.tensor(kind.shape, kind.element) for kind in STRIDED.types)
    ends = (0, 0, 1, 1)
    builder.add(Pad(inner, x, ends, ends, "0.0 : f32", anything=anything))
    builder.add(replace(OWN, sources=(x, k), results=(y,)))
    return builder.build((inner, k), (y,))


def test_zeros_join_those_around_the_image() -> None:
    pad = rewritten(padded(anything=False), 1).ops[0]
    assert isinstance(pad, Pad)
    assert (pad.source, pad.low, pad.high) == (0, (0, 0, 1, 1), (0, 0, 1, 2))


def test_zeros_do_not_join_what_may_be_anything() -> None:
    pad = rewritten(padded(anything=True), 1).ops[0]
    assert isinstance(pad, Pad)
    assert (pad.source, pad.high, pad.anything) == (1, (0, 0, 0, 1), False)


@pytest.mark.parametrize(("element", "zero"), [("i32", "0"), ("f64", "0.0")])
def test_elements_of_any_type(element: str, zero: str) -> None:
    body = contraction_body(element, element, element)
    op = replace(OWN, body=body, inits=(Fill(f"{zero} : {element}"),))
    kinds = tuple(replace(kind, element=element) for kind in STRIDED.types)
    graph = replace(STRIDED, types=kinds, ops=(op,))
    found = rewritten(graph)
    other = Graph((*graph.types, *found.types), found.ops, graph.inputs, graph.outputs)
    given = {t: small_integers(kinds[t], t) for t in graph.inputs}
    (result,) = graph.outputs
    assert np.array_equal(evaluate(other, given)[result], evaluate(graph, given)[result])


def test_a_depthwise_convolution_has_vectors_of_channels_already() -> None:
    assert apply(RULE, depthwise_example(stride=2), 0) is None


def test_complex_numbers_are_left() -> None:
    kinds = tuple(replace(kind, element="complex<f32>") for kind in STRIDED.types)
    assert apply(RULE, replace(STRIDED, types=kinds), 0) is None


def test_rows_of_an_open_size_are_left() -> None:
    n, c, h, _ = STRIDED.types[0].shape
    kinds = replace(STRIDED.types[0], shape=(n, c, h, symbol("s", 9, 20))), *STRIDED.types[1:]
    assert apply(RULE, replace(STRIDED, types=kinds), 0) is None


def test_a_copy_of_windows_holds_none_of_the_zeros() -> None:
    """Im2col copies what the model's own convolution reads, not what this rule's does."""
    found = rewritten(STRIDED)
    both = Graph(
        (*STRIDED.types, *found.types),
        (*found.ops, *STRIDED.ops),
        STRIDED.inputs,
        STRIDED.outputs,
    )
    own, wide = len(both.ops) - 1, len(found.ops) - 1
    assert isinstance(apply(ConvolutionToIm2col(), both, own), Expression)
    refused = str(apply(ConvolutionToIm2col(), both, wide))
    assert "expected no convolution of the same result with fewer products than" in refused
