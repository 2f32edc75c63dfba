"""Direct convolutions: which tiles are tried, where filters lie, what the compiler is told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.scheduled_convolution import with_direct_convolutions
from layoutopt.candidates.space import layout_sets
from layoutopt.compiler.processor import Processor, VectorRegisters
from layoutopt.ir.graph import Pack, Structured, Unpack
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.mlir.write.emit import body_text
from layoutopt.oracle import evaluate
from layoutopt.rules.rewrites.examples import depthwise_example
from tests.parsing import lifted

AVX2, AVX512, NEON = (p.registers for p in (Processor.AVX2, Processor.AVX512, Processor.NEON))


@dataclass(frozen=True)
class Model:
    """One NCHW convolution, by its output image."""

    outs: tuple[int, int] = (14, 14)
    taps: tuple[int, int] = (3, 3)
    channels: int = 8
    features: int = 64
    batch: int = 1
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    constant: bool = True
    element: str = "f32"
    groups: int = 1

    @property
    def text(self) -> str:
        if self.groups > 1:
            return self._grouped
        reach = [
            (o - 1) * s + (t - 1) * d + 1
            for o, t, s, d in zip(self.outs, self.taps, self.strides, self.dilations, strict=True)
        ]
        x, w, y = (
            f"tensor<{'x'.join(map(str, sizes))}x{self.element}>"
            for sizes in (
                (self.batch, self.channels, *reach),
                (self.features, self.channels, *self.taps),
                (self.batch, self.features, *self.outs),
            )
        )
        argument = "" if self.constant else f", %w: {w}"
        constant = f"%w = arith.constant dense_resource<w> : {w}" if self.constant else ""
        windows = ", ".join(
            f"{word} = dense<{list(values)}> : tensor<2xi64>"
            for word, values in (("strides", self.strides), ("dilations", self.dilations))
        )
        return f"""
func.func @main(%x: {x}{argument}) -> {y} {{
  {constant}
  %zero = arith.constant 0.0 : {self.element}
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : {self.element}) outs(%e : {y}) -> {y}
  %r = linalg.conv_2d_nchw_fchw {{{windows}}} ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""

    @property
    def _grouped(self) -> str:
        reach = [
            (o - 1) * s + t for o, s, t in zip(self.outs, self.strides, self.taps, strict=True)
        ]
        channels, features = self.channels, self.features // self.groups
        x, w, y = (
            f"tensor<{'x'.join(map(str, sizes))}x{self.element}>"
            for sizes in (
                (self.batch, self.groups, channels, *reach),
                (self.groups, features, channels, *self.taps),
                (self.batch, self.groups, features, *self.outs),
            )
        )
        strides = f"strides = dense<{list(self.strides)}> : tensor<2xi64>"
        return f"""
func.func @main(%x: {x}) -> {y} {{
  %w = arith.constant dense_resource<w> : {w}
  %zero = arith.constant 0.0 : {self.element}
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : {self.element}) outs(%e : {y}) -> {y}
  %r = linalg.conv_2d_ngchw_gfchw {{{strides}}} ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""


def found(
    model: Model, registers: VectorRegisters | None = AVX512
) -> list[tuple[Candidate, PhysicalForm]]:
    egraph = saturate(lifted(model.text))
    clusters = form_clusters(egraph)
    forms = ContractionForms(registers=registers)
    candidates, _ = enumerate_candidates(egraph, clusters, layout_sets(egraph), forms)
    pairs = []
    for c in candidates:
        form = physical_form(egraph.graph, clusters[c.cluster], c)
        if c.form is Form.DIRECT:
            assert isinstance(form, PhysicalForm)
            pairs.append((c, form))
    return pairs


def tiles(model: Model, registers: VectorRegisters | None = AVX512) -> list[str]:
    return [str(c.tile) for c, _ in found(model, registers)]


def convolution_in(form: PhysicalForm) -> Structured:
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured))
    return op


@pytest.mark.parametrize(
    ("model", "registers", "expected"),
    [
        (Model(outs=(14, 14)), AVX512, ["14x2x16", "14x16"]),
        (Model(outs=(7, 7)), AVX512, ["7x2x16", "7x16"]),
        (Model(outs=(17, 17), features=192), AVX512, ["17x16"]),  # a prime: one long row
        (Model(outs=(14, 14), features=96), AVX512, ["14x2x16", "14x16"]),
        (Model(outs=(14, 14), features=24), AVX512, []),  # no vector divides the features
        (Model(outs=(31, 37)), AVX512, []),  # no rows divide a prime this large
        # pixels 4 KB apart; as it is, and as Strassen's seven products
        (Model(outs=(14, 14), channels=1024), AVX512, ["7x2x16", "2x4x16"] * 2),
        (Model(outs=(14, 14)), AVX2, ["14x8", "2x4x8"]),
        (Model(outs=(14, 14)), NEON, ["14x2x4", "14x4"]),
        (Model(outs=(14, 14)), None, []),
        (Model(outs=(14, 14), strides=(2, 2)), AVX2, ["14x8", "2x4x8"]),  # by pairs of pixels
        (Model(outs=(14, 14), channels=3, strides=(2, 2)), AVX2, ["14x8", "2x4x8"]),  # six numbers
        (Model(outs=(14, 14), features=64, groups=4), AVX2, ["14x8", "2x2x8"]),  # a group's panels
        (Model(outs=(14, 14), features=64, groups=4, strides=(2, 2)), AVX2, ["14x8", "2x2x8"]),
    ],
)
def test_tiles_divide_a_row_of_the_image_and_fill_the_registers(
    model: Model, registers: VectorRegisters | None, expected: list[str]
) -> None:
    assert tiles(model, registers) == expected


@pytest.mark.parametrize(
    "model",
    [
        Model(taps=(3, 4), strides=(2, 3)),  # half as many zeros as taps
        Model(features=64, groups=64),  # one feature of a group: its vectors are channels
        Model(taps=(1, 1)),  # no windows
        Model(outs=(1, 14), taps=(1, 3)),  # one dim: IREE adds a batch loop
        Model(channels=1),  # nothing to sum beside the window
        Model(channels=11),  # no step divides the channels
        Model(constant=False),
        Model(element="f64"),
    ],
)
def test_other_convolutions_are_left_to_the_compiler(model: Model) -> None:
    assert tiles(model) == []


def test_filters_lie_in_panels_and_nothing_is_packed_at_run_time() -> None:
    model = Model(outs=(28, 14), features=96)
    candidate, form = found(model)[0]
    filters = lifted(model.text).ops[-1].inputs[1]
    assert candidate.layout_of(filters).physical_shape((96, 8, 3, 3)) == (6, 3, 3, 8, 16)
    assert not any(isinstance(op, Pack | Unpack) for op in form.graph.ops)
    op = convolution_in(form)
    assert op.domain == (28, 14, 6, 16, 3, 3, 8)
    assert op.schedule == Schedule(
        (14, 14, 2, 16, 0, 0, 0), (1, 14, 2, 16, 0, 0, 0), (0, 0, 0, 0, 1, 1, 4), windowed=True
    )
    text = body_text(form.graph)
    assert "affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 16 + d1 + d4 * 16 + d5, d6)>" in text
    assert (
        "lowering_config = #iree_cpu.lowering_config<distribution = [14, 14, 2, 16, 0, 0, 0], "
        "vector_common_parallel = [1, 14, 2, 16, 0, 0, 0], "
        "vector_reduction = [0, 0, 0, 0, 1, 1, 4]>" in text
    )
    assert "linalg-fold-unit-extent-dims{use-rank-reducing-slices=true}" in text


@pytest.mark.parametrize(
    "model",
    [
        Model(outs=(4, 5), channels=3, features=16),
        Model(outs=(3, 4), taps=(1, 5), features=32),
        Model(outs=(3, 4), taps=(5, 1), features=32),
        Model(outs=(3, 4), strides=(2, 1), dilations=(1, 2), batch=2, features=32),
        Model(outs=(3, 4), strides=(2, 2), channels=3, features=32, batch=2),
        Model(outs=(3, 4), taps=(2, 7), strides=(1, 2), channels=4, features=16),
        Model(outs=(3, 4), taps=(2, 5), strides=(1, 3), channels=4, features=16),
        Model(outs=(3, 4), channels=4, features=48, groups=3),
        Model(outs=(3, 4), strides=(2, 2), channels=4, features=48, groups=3, batch=2),
    ],
)
def test_the_flat_image_gives_the_same_sums(model: Model) -> None:
    graph = lifted(model.text)
    rng = np.random.default_rng(3)
    given = {
        t: rng.integers(-3, 4, graph.types[t].shape).astype(np.float32)
        for t in graph.ops[-1].inputs
    }
    known = evaluate(saturate(graph).graph, given)
    pairs = found(model)
    assert pairs
    for candidate, form in pairs:
        *operands, (result, layout) = candidate.layouts
        places = (*form.inputs, *form.weights)
        read = {p: o.apply(known[t]) for p, (t, o) in zip(places, operands, strict=True)}
        made = evaluate(form.graph, read)[form.outputs[0]]
        assert np.array_equal(made, layout.apply(known[result]))


def test_a_tile_that_does_not_divide_is_not_written() -> None:
    _, form = found(Model())[0]
    unscheduled = with_direct_convolutions(form.graph, VectorTile(5, 64))
    assert unscheduled.ops == form.graph.ops


def test_a_depthwise_convolution_of_computed_filters_has_its_channels_last() -> None:
    graph = depthwise_example()
    egraph = saturate(graph, ())
    clusters = form_clusters(egraph)
    sets = layout_sets(egraph)
    candidates, _ = enumerate_candidates(egraph, clusters, sets, ContractionForms())
    x, w = graph.ops[0].inputs
    found = {(str(c.layout_of(x)), str(c.layout_of(w))) for c in candidates}
    assert ("perm[0,2,3,1]", "perm[1,2,0]") in found
