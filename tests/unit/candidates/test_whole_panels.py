"""Columns padded to whole panels: which are, where they lie, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.packing.options import PackingOptions
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.space import layout_sets
from layoutopt.candidates.whole_panels import padded_columns
from layoutopt.compiler.processor import Processor
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.size import symbol
from layoutopt.oracle import evaluate
from tests.parsing import lifted

REGISTERS = Processor.AVX512.registers


@pytest.mark.parametrize(
    ("width", "columns", "expected"),
    [
        (1000, 16, 1008),
        (1000, 8, None),  # panels divide them
        (58, 16, 64),
        (56, 16, 64),  # an eighth of 64 is padding, and no more
        (55, 16, None),
        (96, 16, None),
        (3, 16, None),
        (symbol("n", planned=1000), 16, None),
    ],
)
def test_columns_are_padded_where_little_is_added(
    width: int, columns: int, expected: int | None
) -> None:
    assert padded_columns(width, columns) == expected


MATMUL = """
func.func @main(%x: tensor<36x8xf32>) -> tensor<36x58xf32> {
  %w = arith.constant dense_resource<w> : tensor<8x58xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<36x58xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<36x58xf32>) -> tensor<36x58xf32>
  %r = linalg.matmul ins(%x, %w : tensor<36x8xf32>, tensor<8x58xf32>)
      outs(%f : tensor<36x58xf32>) -> tensor<36x58xf32>
  return %r : tensor<36x58xf32>
}
"""
CONVOLUTION = """
func.func @main(%x: tensor<1x8x8x8xf32>) -> tensor<1x60x6x6xf32> {
  %w = arith.constant dense_resource<w> : tensor<60x8x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x60x6x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x60x6x6xf32>) -> tensor<1x60x6x6xf32>
  %r = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x8x8x8xf32>, tensor<60x8x3x3xf32>)
      outs(%f : tensor<1x60x6x6xf32>) -> tensor<1x60x6x6xf32>
  return %r : tensor<1x60x6x6xf32>
}
"""


def padded(text: str) -> tuple[Graph, list[tuple[Candidate, PhysicalForm]]]:
    """The candidates whose result has columns of padding."""
    graph = lifted(text)
    egraph = saturate(graph)
    clusters = form_clusters(egraph)
    forms = ContractionForms(registers=REGISTERS)
    sets = layout_sets(egraph, PackingOptions(panel=forms.columns), 6)
    candidates, _ = enumerate_candidates(egraph, clusters, sets, forms)
    found = []
    for c in candidates:
        form = physical_form(egraph.graph, clusters[c.cluster], c)
        made = dict(c.layouts).get(graph.outputs[0])
        if c.form in (Form.PANELS, Form.DIRECT) and made is not None and made.is_tiled:
            assert isinstance(form, PhysicalForm)
            found.append((c, form))
    return egraph.graph, found


@pytest.mark.parametrize(
    ("text", "written", "memory"),
    [
        (MATMUL, Form.PANELS, (36, 4, 16)),
        (CONVOLUTION, Form.DIRECT, (1, 6, 6, 4, 16)),
    ],
)
def test_padded_columns_are_zeros_in_the_weights(
    text: str, written: Form, memory: tuple[int, ...]
) -> None:
    graph, pairs = padded(text)
    assert written in {candidate.form for candidate, _ in pairs}
    rng = np.random.default_rng(5)
    places = lifted(text).ops[-1].inputs
    given = {t: rng.integers(-3, 4, graph.types[t].shape).astype(np.float32) for t in places}
    known = evaluate(graph, given)
    for candidate, form in pairs:
        *operands, (result, layout) = candidate.layouts
        assert layout.physical_shape(graph.types[result].shape) == memory
        assert any(isinstance(op, Structured) and op.schedule for op in form.graph.ops)
        reads = zip((*form.inputs, *form.weights), operands, strict=True)
        read = {place: own.apply(known[t]) for place, (t, own) in reads}
        made = evaluate(form.graph, read)[form.outputs[0]]
        assert made.shape == memory
        assert np.array_equal(layout.undo(made, graph.types[result].shape), known[result])


def test_columns_that_a_panel_divides_are_not_padded() -> None:
    _, pairs = padded(MATMUL.replace("58xf32", "64xf32"))
    assert not pairs
