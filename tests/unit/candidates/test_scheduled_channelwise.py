"""Convolutions of groups and pooling: which tiles are tried, and what the compiler is told."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.scheduled_channelwise import with_channelwise_schedules
from layoutopt.candidates.space import layout_sets
from layoutopt.compiler.processor import Processor, VectorRegisters
from layoutopt.ir.graph import Structured
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.mlir.write.emit import body_text
from layoutopt.oracle import evaluate
from tests.parsing import lifted

AVX2, AVX512, NEON = (p.registers for p in (Processor.AVX2, Processor.AVX512, Processor.NEON))
DEPTHWISE, POOLING = "depthwise_conv_2d_nhwc_hwc", "pooling_nhwc_max"


@dataclass(frozen=True)
class Model:
    """One op over windows of an NHWC image, by its output image."""

    name: str = DEPTHWISE
    outs: tuple[int, int] = (7, 7)
    taps: tuple[int, int] = (3, 3)
    channels: int = 64
    batch: int = 1
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    element: str = "f32"

    @property
    def text(self) -> str:
        reach = [
            (o - 1) * s + (t - 1) * d + 1
            for o, t, s, d in zip(self.outs, self.taps, self.strides, self.dilations, strict=True)
        ]
        window = (*self.taps, self.channels) if self.name == DEPTHWISE else self.taps
        x, w, y = (
            f"tensor<{'x'.join(map(str, sizes))}x{self.element}>"
            for sizes in (
                (self.batch, *reach, self.channels),
                window,
                (self.batch, *self.outs, self.channels),
            )
        )
        windows = ", ".join(
            f"{word} = dense<{list(values)}> : tensor<2xi64>"
            for word, values in (("strides", self.strides), ("dilations", self.dilations))
        )
        return f"""
func.func @main(%x: {x}, %w: {w}) -> {y} {{
  %zero = arith.constant 0.0 : {self.element}
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : {self.element}) outs(%e : {y}) -> {y}
  %r = linalg.{self.name} {{{windows}}} ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""


@dataclass(frozen=True)
class Text:
    """A model as text."""

    text: str


def found(
    model: Model | Text, registers: VectorRegisters | None = AVX512, threads: int = 1
) -> list[tuple[Candidate, PhysicalForm]]:
    egraph = saturate(lifted(model.text), ())
    clusters = form_clusters(egraph)
    forms = ContractionForms(registers=registers, threads=threads)
    candidates, _ = enumerate_candidates(egraph, clusters, layout_sets(egraph), forms)
    pairs = []
    for c in candidates:
        if c.form is Form.CHANNELWISE:
            form = physical_form(egraph.graph, clusters[c.cluster], c)
            assert isinstance(form, PhysicalForm)
            pairs.append((c, form))
    return pairs


def tiles(model: Model | Text, registers: VectorRegisters | None = AVX512) -> list[str]:
    return list(dict.fromkeys(str(c.tile) for c, _ in found(model, registers)))


@pytest.mark.parametrize("name", [DEPTHWISE, POOLING])
@pytest.mark.parametrize(
    ("model", "registers", "expected"),
    [
        (Model(), AVX512, ["7x64", "7x32"]),
        (Model(), AVX2, ["7x8", "1x32"]),
        (Model(outs=(14, 14)), AVX2, ["14x8", "2x32"]),
        (Model(outs=(56, 56), channels=144), AVX2, ["14x8", "4x16"]),
        (Model(channels=24), AVX512, ["7x8"]),  # no vector divides the channels: half of one
        (Model(channels=6), AVX512, []),
        (Model(outs=(31, 37)), AVX512, []),  # no rows divide a prime this large
        (Model(strides=(2, 2)), AVX512, ["1x64", "1x32"]),  # neighbours do not stay neighbours
        (Model(strides=(2, 1)), AVX512, ["7x64", "7x32"]),
        (Model(channels=1024), AVX512, ["7x64", "7x32"]),  # pixels 4 KB apart
        (Model(outs=(14, 14)), NEON, ["14x8", "14x4"]),
        (Model(), None, []),
    ],
)
def test_tiles_divide_the_row_and_the_channels_and_fill_the_registers(
    name: str, model: Model, registers: VectorRegisters | None, expected: list[str]
) -> None:
    assert tiles(replace(model, name=name), registers) == expected


@pytest.mark.parametrize(
    "model",
    [
        Model(taps=(1, 1)),  # no windows
        Model(outs=(1, 14), taps=(1, 3)),  # one dim: IREE adds a batch loop
        Model(element="f64"),
    ],
)
def test_other_ops_are_left_to_the_compiler(model: Model) -> None:
    assert tiles(model) == []


def test_the_compiler_is_told_of_rows_and_channels() -> None:
    _, form = found(Model(outs=(28, 14), channels=96))[0]
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured))
    assert op.domain == (28, 14, 96, 3, 3)
    assert op.schedule == Schedule(
        (28, 14, 96, 0, 0), (1, 14, 32, 0, 0), (0, 0, 0, 1, 1), windowed=True
    )
    text = body_text(form.graph)
    assert "affine_map<(d0, d1, d2, d3, d4) -> (d0 * 16 + d1 + d3 * 16 + d4, d2)>" in text
    assert "vector_common_parallel = [1, 14, 32, 0, 0], vector_reduction = [0, 0, 0, 1, 1]" in text
    assert "linalg.generic" in text


def test_threads_share_the_rows_of_the_image() -> None:
    _, form = found(Model(outs=(28, 14), channels=96), threads=4)[0]
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured))
    assert op.schedule is not None
    assert op.schedule.distribution == (7, 14, 96, 0, 0)


@pytest.mark.parametrize("name", [DEPTHWISE, POOLING])
@pytest.mark.parametrize(
    "model",
    [
        Model(outs=(4, 5), channels=16),
        Model(outs=(3, 4), taps=(1, 5), channels=32),
        Model(outs=(3, 4), strides=(2, 1), dilations=(1, 2), batch=2, channels=16),
        Model(outs=(3, 4), strides=(2, 2), batch=2, channels=16),
    ],
)
def test_the_flat_image_gives_the_same_results(name: str, model: Model) -> None:
    model = replace(model, name=name)
    graph = lifted(model.text)
    (image, window), (result,) = graph.inputs, graph.outputs
    rng = np.random.default_rng(3)
    x, w = (rng.integers(-3, 4, graph.types[t].shape).astype(np.float32) for t in (image, window))
    expected = evaluate(graph, {image: x, window: w})[result]
    pairs = found(model)
    assert pairs
    for candidate, form in pairs:
        tensors = image, window
        given = {
            local: candidate.layout_of(tensor).apply(value)
            for local, tensor, value in zip(
                (*form.inputs, *form.weights), tensors, (x, w), strict=True
            )
        }
        made = evaluate(form.graph, given)[form.outputs[0]]
        assert np.array_equal(made, candidate.layout_of(result).apply(expected))


def test_a_tile_that_does_not_divide_is_not_written() -> None:
    _, form = found(Model())[0]
    unscheduled = with_channelwise_schedules(form.graph, VectorTile(5, 64))
    assert unscheduled.ops == form.graph.ops


def grouped(channels: int = 4, features: int = 4, groups: int = 32, stride: int = 1) -> str:
    x = f"tensor<1x{groups}x{channels}x{6 * stride + 3}x{6 * stride + 3}xf32>"
    w = f"tensor<{groups}x{features}x{channels}x3x3xf32>"
    y = f"tensor<1x{groups}x{features}x7x7xf32>"
    return f"""
func.func @main(%x: {x}) -> {y} {{
  %w = arith.constant dense_resource<w> : {w}
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.conv_2d_ngchw_gfchw {{strides = dense<{stride}> : tensor<2xi64>}}
    ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""


@pytest.mark.parametrize(
    ("text", "registers", "expected"),
    [
        (grouped(), AVX512, ["7x16", "1x32"]),
        (grouped(features=6), AVX2, ["1x16"]),
        (grouped(stride=2), AVX2, ["1x16", "1x8"]),
        (grouped(channels=1, features=2), AVX512, ["7x32", "7x16"]),  # depthwise, two of each
        (grouped(groups=2), AVX512, []),  # too few to lie side by side
    ],
)
def test_groups_of_several_channels_lie_side_by_side(
    text: str, registers: VectorRegisters, expected: list[str]
) -> None:
    assert tiles(Text(text), registers) == expected


def test_a_few_features_of_a_group_are_held_beside_each_other() -> None:
    """Image, filters and result have groups last; the window and channels are summed over."""
    candidate, form = found(Text(grouped(features=8)))[0]
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured))
    assert op.domain == (7, 7, 8, 32, 3, 3, 4)
    assert op.schedule is not None
    assert op.schedule.vector == (1, 7, 4, 16, 0, 0, 0)
    assert op.schedule.distribution == (7, 7, 8, 16, 0, 0, 0)
    assert op.schedule.reduction == (0, 0, 0, 0, 1, 1, 1)
    image, filters = lifted(grouped(features=8)).ops[-1].inputs
    assert candidate.layout_of(image).physical_shape((1, 32, 4, 9, 9)) == (1, 9, 9, 4, 32)
    assert candidate.layout_of(filters).physical_shape((32, 8, 4, 3, 3)) == (3, 3, 4, 8, 32)


@pytest.mark.parametrize(
    "text", [grouped(2, 3, 16), grouped(2, 4, 16, 2), grouped(1, 2, 8), grouped(3, 1, 16)]
)
def test_groups_over_the_flat_image_give_the_same_sums(text: str) -> None:
    graph = lifted(text)
    (image, filters), (result,) = graph.ops[-1].inputs, graph.outputs
    rng = np.random.default_rng(5)
    x, w = (rng.integers(-3, 4, graph.types[t].shape).astype(np.float32) for t in (image, filters))
    expected = evaluate(graph, {image: x, filters: w})[result]
    pairs = found(Text(text), AVX2)
    assert pairs
    for candidate, form in pairs:
        given = {
            form.inputs[0]: candidate.layout_of(image).apply(x),
            form.weights[0]: candidate.layout_of(filters).apply(w),
        }
        made = evaluate(form.graph, given)[form.outputs[0]]
        assert np.array_equal(made, candidate.layout_of(result).apply(expected))
