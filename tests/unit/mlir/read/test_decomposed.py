"""Ops that IREE does not compile are read as others, where these say the same."""

from __future__ import annotations

import pytest

from layoutopt.ir.extensions.fft import Fft
from layoutopt.ir.graph import Graph, Opaque
from tests.parsing import lifted

FILTERS = """
func.func @f(%g: tensor<{source}>) -> tensor<{result}> {{
  %e = tensor.empty() : tensor<{result}>
  %u = linalg.winograd_filter_transform fmr(F_4_3) ins(%g : tensor<{source}>)
    outs(%e : tensor<{result}>) -> tensor<{result}>
  return %u : tensor<{result}>
}}"""


@pytest.mark.parametrize("element", ["f32", "f16", "f64"])
def test_a_transform_of_filters_is_two_contractions(element: str) -> None:
    text = FILTERS.format(source=f"2x3x3x5x{element}", result=f"6x6x5x2x{element}")
    graph = lifted(text)
    assert [len(op.inputs) for op in graph.ops if type(op).__name__ == "Structured"] == [2, 2]
    assert not any(isinstance(op, Opaque) for op in graph.ops)


def test_integers_stay_as_they_came() -> None:
    """Their fractions would be cut off."""
    graph = lifted(FILTERS.format(source="2x3x3x5xi32", result="6x6x5x2xi32"))
    names = [op.name for op in graph.ops if isinstance(op, Opaque)]
    assert names[-1] == "linalg.winograd_filter_transform"


def fourier_stage(stage: str) -> Graph:
    kind = "tensor<3x8xf32>"
    return lifted(f"""
func.func @f(%x: {kind}, %y: {kind}, %m: index) -> ({kind}, {kind}) {{
  {stage}
  %u, %v = iree_linalg_ext.fft ins(%n : index) outs(%x, %y : {kind}, {kind}) : {kind}, {kind}
  return %u, %v : {kind}, {kind}
}}""")


def test_a_stage_of_a_fourier_transform_gets_its_factors() -> None:
    op = fourier_stage("%n = arith.constant 2 : index").ops[-1]
    assert isinstance(op, Fft)
    assert (op.stage, len(op.sources)) == (2, 4)


def test_a_stage_that_is_not_known_stays() -> None:
    op = fourier_stage("%n = arith.addi %m, %m : index").ops[-1]
    assert isinstance(op, Opaque)
    assert op.reason == "expected twiddle factors, or a stage that is a constant, but got neither"
