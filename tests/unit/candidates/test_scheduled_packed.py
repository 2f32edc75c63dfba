"""Packed contractions with a tile of registers: which tiles, which loops, the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.packing.options import PackingOptions
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.scheduled_packed import with_packed_schedules
from layoutopt.candidates.space import layout_sets
from layoutopt.compiler.processor import Processor, VectorRegisters
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.schedule import VectorTile
from layoutopt.oracle import evaluate
from layoutopt.profiles.target import Tile
from tests.parsing import lifted

AVX2, AVX512, NEON = (p.registers for p in (Processor.AVX2, Processor.AVX512, Processor.NEON))
PLAIN = "strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>"
STRIDED = PLAIN.replace("strides = dense<1>", "strides = dense<2>")


def contraction(name: str, attributes: str, shapes: Sequence[str], element: str = "f32") -> str:
    """A function of one named op: of an argument and a weight."""
    x, w, y = (f"tensor<{shape}x{element}>" for shape in shapes)
    attributes = f"{{{attributes}}}" if attributes else ""
    return f"""
func.func @main(%x: {x}) -> {y} {{
  %w = arith.constant dense_resource<w> : {w}
  %zero = arith.constant 0.0 : {element}
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : {element}) outs(%e : {y}) -> {y}
  %r = linalg.{name} {attributes} ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""


MATMUL = contraction("matmul", "", ("32x48", "48x64", "32x64"))
ONE_BY_ONE = contraction("conv_2d_nchw_fchw", PLAIN, ("1x32x6x7", "48x32x1x1", "1x48x6x7"))
WINDOWS = contraction("conv_2d_nchw_fchw", PLAIN, ("1x32x8x9", "48x32x3x3", "1x48x6x7"))
STRIDES = contraction("conv_2d_nchw_fchw", STRIDED, ("1x32x9x9", "48x32x3x3", "1x48x4x4"))
CHANNELS = contraction("depthwise_conv_2d_nchw_chw", PLAIN, ("1x32x8x9", "32x3x3", "1x32x6x7"))


def square(size: int, registers: VectorRegisters | None = AVX512) -> PackingOptions:
    return PackingOptions({"f32": (Tile(size, size, size, mmt4d=False),)}, registers=registers)


def packed(graph: Graph, options: PackingOptions) -> list[tuple[Candidate, PhysicalForm]]:
    """The packed candidates, and what is written for each."""
    egraph = saturate(graph, ())
    clusters = form_clusters(egraph)
    sets = layout_sets(egraph, options, 12)
    found, _ = enumerate_candidates(egraph, clusters, sets, ContractionForms(), options)
    pairs = []
    for candidate in found:
        form = physical_form(egraph.graph, clusters[candidate.cluster], candidate)
        if candidate.form.is_packed and isinstance(form, PhysicalForm):
            pairs.append((candidate, form))
    return pairs


def contraction_in(form: PhysicalForm) -> Structured:
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured) and o.is_contraction)
    return op


@pytest.mark.parametrize(
    ("text", "size", "registers", "tile"),
    [
        (MATMUL, 16, AVX512, "16x16"),  # the rows of a tile
        (MATMUL, 8, AVX2, "8x8"),
        (MATMUL, 8, NEON, "8x8"),
        (ONE_BY_ONE, 16, AVX512, "7x16"),
        (ONE_BY_ONE, 8, AVX2, "7x8"),
        (WINDOWS, 16, AVX512, "7x16"),  # a row of the image
        (STRIDES, 16, AVX512, "3x16"),  # no neighbours in a row: all panels of the filters
        (CHANNELS, 16, AVX512, "7x16"),
    ],
)
def test_a_packed_contraction_has_a_tile_of_registers(
    text: str, size: int, registers: VectorRegisters, tile: str
) -> None:
    found = packed(lifted(text), square(size, registers))
    assert found
    assert {str(candidate.tile) for candidate, _ in found} == {tile}
    for candidate, form in found:
        assert candidate.form is Form.PACKED_SCHEDULED
        schedule = contraction_in(form).schedule
        assert schedule is not None
        assert schedule.windowed


@pytest.mark.parametrize("text", [MATMUL, ONE_BY_ONE, WINDOWS, STRIDES, CHANNELS])
def test_what_is_written_computes_the_same(text: str) -> None:
    graph = lifted(text)
    (data, weights), (result,) = graph.ops[-1].inputs, graph.outputs
    rng = np.random.default_rng(5)
    x, w = (rng.integers(-3, 4, graph.types[t].shape).astype(np.float32) for t in (data, weights))
    expected = evaluate(graph, {data: x, weights: w})[result]
    pairs = packed(graph, square(16))
    assert pairs
    for candidate, form in pairs:
        given = {
            form.inputs[0]: candidate.layout_of(data).apply(x),
            form.weights[0]: candidate.layout_of(weights).apply(w),
        }
        made = evaluate(form.graph, given)[form.outputs[0]]
        assert np.array_equal(made, candidate.layout_of(result).apply(expected))


def test_columns_of_weights_lie_last_in_their_tiles() -> None:
    graph = lifted(WINDOWS)
    (_, weights), (result,) = graph.ops[-1].inputs, graph.outputs
    for candidate, _ in packed(graph, square(16)):
        assert candidate.layout_of(weights).inner_dims_pos == (1, 0)
        assert candidate.layout_of(result).inner_dims_pos == (1,)


@pytest.mark.parametrize(
    "text",
    [
        MATMUL.replace("f32", "f16"),  # no tile was seen to pay
        contraction("matmul", "", ("32x11", "11x64", "32x64")),  # a prime: summed one by one
    ],
)
def test_others_are_left_to_the_compiler(text: str) -> None:
    options = square(16)
    tiles = {"f16": options.tiles["f32"], **options.tiles}
    found = packed(lifted(text), replace(options, tiles=tiles))
    assert found
    forms = {candidate.form for candidate, _ in found}
    assert forms <= {Form.PACKED_GENERALIZED, Form.PACKED_SCHEDULED}
    assert Form.PACKED_GENERALIZED in forms


def test_a_sum_of_everything_has_no_columns() -> None:
    text = contraction("dot", "", ("48", "48", "1")).replace("tensor<1xf32>", "tensor<f32>")
    found = packed(lifted(text), square(16))
    assert {candidate.form for candidate, _ in found} == {Form.PACKED_GENERALIZED}


def test_without_registers_the_compiler_chooses() -> None:
    found = packed(lifted(MATMUL), square(16, None))
    assert {candidate.form for candidate, _ in found} == {Form.PACKED_GENERALIZED}


def test_a_tile_of_other_columns_is_not_written() -> None:
    _, form = packed(lifted(MATMUL), square(16))[0]
    assert with_packed_schedules(form.graph, VectorTile(16, 8)).ops == form.graph.ops
