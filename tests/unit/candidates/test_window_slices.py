"""Copies of windows: which are a choice among slices, and that these are the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.candidates.candidate import PhysicalForm, physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.space import layout_sets
from layoutopt.candidates.window_slices import with_slices_of_windows
from layoutopt.compiler.processor import Processor, VectorRegisters
from layoutopt.ir.graph import Slice, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.oracle import evaluate
from tests.parsing import lifted


def windows(
    channels: int = 64, read: str = "d1 * 2 + d3, d2 * 2 + d4, d5", *, inside: bool = True
) -> str:
    """A copy of the windows of an image, its channels innermost in the result or outside."""
    x = f"tensor<1x29x29x{channels}xf32>"
    y = f"tensor<1x14x14x3x3x{channels}xf32>" if inside else f"tensor<1x{channels}x14x14x3x3xf32>"
    written = "d0, d1, d2, d3, d4, d5" if inside else "d0, d5, d1, d2, d3, d4"
    dims = ", ".join(f"d{d}" for d in range(6))
    loops = ", ".join(['"parallel"'] * 6)
    return f"""
func.func @main(%x: {x}) -> {y} {{
  %e = tensor.empty() : {y}
  %r = linalg.generic {{indexing_maps = [affine_map<({dims}) -> (d0, {read})>,
      affine_map<({dims}) -> ({written})>], iterator_types = [{loops}]}}
      ins(%x : {x}) outs(%e : {y}) {{
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }} -> {y}
  return %r : {y}
}}
"""


def in_one_pass(text: str, registers: VectorRegisters | None) -> list[PhysicalForm]:
    egraph = saturate(lifted(text), ())
    clusters = form_clusters(egraph)
    forms = ContractionForms(registers=registers)
    candidates, _ = enumerate_candidates(egraph, clusters, layout_sets(egraph), forms)
    found = []
    for candidate in candidates:
        if candidate.form is Form.ONE_PASS:
            form = physical_form(egraph.graph, clusters[candidate.cluster], candidate)
            assert isinstance(form, PhysicalForm)
            found.append(form)
    return found


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(windows(), id="two apart"),
        pytest.param(windows(3), id="few channels"),
        pytest.param(windows(read="d1 + d3, d2 + d4 * 2, d5"), id="dilated"),
        pytest.param(windows(read="d1 + d3 * 2 + 1, d2 * 2 + d4, d5"), id="with an offset"),
    ],
)
def test_copies_of_windows_choose_among_slices(text: str) -> None:
    (form,) = in_one_pass(text, Processor.AVX2.registers)
    *slices, op = form.graph.ops
    assert len(slices) == 9
    assert all(isinstance(s, Slice) for s in slices)
    assert isinstance(op, Structured)
    assert all(f.plain_dim is not None for m in op.maps for f in m)
    (x,), (y,) = form.inputs, form.outputs
    image = np.random.default_rng(0).random(form.graph.types[x].shape, np.float32)
    graph = lifted(text)
    np.testing.assert_array_equal(
        evaluate(form.graph, {x: image})[y],
        evaluate(graph, {graph.inputs[0]: image})[graph.outputs[0]],
    )


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (windows(inside=False), "expected the elements of a window apart, but they lie side by"),
        (windows(read="d1 * 2 + d3, d3 * 2 + d4, d5"), "expected windows of at most 49 elements"),
        (windows(read="d1 * 2, d2 * 2, d5"), "expected windows of at most 49 elements"),
    ],
)
def test_others_are_refused(text: str, refusal: str) -> None:
    found = with_slices_of_windows(lifted(text))
    assert isinstance(found, Refusal)
    assert found.reason.startswith(refusal)
    assert in_one_pass(text, Processor.AVX2.registers) == []


def test_a_gpu_has_no_such_form() -> None:
    assert in_one_pass(windows(), None) == []
