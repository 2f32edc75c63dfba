"""Elementwise ops: which have a tile, and what the compiler is told."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.space import layout_sets
from layoutopt.compiler.processor import Processor, VectorRegisters
from layoutopt.ir.graph import Structured
from layoutopt.ir.schedule import Schedule
from layoutopt.mlir.write.emit import body_text
from tests.parsing import lifted

AVX2, AVX512, NEON = (p.registers for p in (Processor.AVX2, Processor.AVX512, Processor.NEON))


@dataclass(frozen=True)
class Model:
    """A sum over images with a factor for each channel, in some order of the dims."""

    shape: tuple[int, ...] = (1, 64, 14, 14)
    factors: str = "d1"
    order: str = "d0, d1, d2, d3"
    element: str = "f32"

    @property
    def text(self) -> str:
        dims = ", ".join(f"d{d}" for d in range(4))
        named = dict(zip(dims.split(", "), self.shape, strict=True))
        x, s, y = (
            f"tensor<{'x'.join(str(named[d]) for d in order.split(', '))}x{self.element}>"
            for order in (self.order, self.factors, dims)
        )
        maps = ", ".join(
            f"affine_map<({dims}) -> ({order})>" for order in (self.order, self.factors, dims)
        )
        return f"""
func.func @main(%x: {x}, %s: {s}) -> {y} {{
  %e = tensor.empty() : {y}
  %r = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%x, %s : {x}, {s}) outs(%e : {y}) {{
  ^bb0(%a: {self.element}, %b: {self.element}, %o: {self.element}):
    %p = arith.mulf %a, %b : {self.element}
    linalg.yield %p : {self.element}
  }} -> {y}
  return %r : {y}
}}
"""


def found(
    text: str, registers: VectorRegisters | None = AVX2, threads: int = 1
) -> list[tuple[Candidate, PhysicalForm]]:
    egraph = saturate(lifted(text), ())
    clusters = form_clusters(egraph)
    forms = ContractionForms(registers=registers, threads=threads)
    candidates, _ = enumerate_candidates(egraph, clusters, layout_sets(egraph), forms)
    pairs = []
    for c in candidates:
        if c.form is Form.ELEMENTWISE:
            form = physical_form(egraph.graph, clusters[c.cluster], c)
            assert isinstance(form, PhysicalForm)
            pairs.append((c, form))
    return pairs


@pytest.mark.parametrize(
    ("model", "registers", "expected"),
    [
        (Model(), AVX2, ["1x8+4"]),
        (Model(), AVX512, ["1x16+4"]),
        (Model(), NEON, ["1x4"]),
        (Model((2, 64, 7, 7)), AVX2, ["1x8+1"]),
        (Model((1, 64, 16, 16)), AVX2, ["1x8"]),
        (Model(factors="d0"), AVX2, ["1x8"]),  # one row of whole vectors
        (Model(element="f16"), AVX2, ["1x16+4"]),
        (Model((1, 2048, 2, 2)), AVX2, []),  # rows of less than a vector
        (Model((1, 16, 7, 7)), AVX2, []),  # less than the registers hold a few times
        (Model((8, 64, 7, 7), order="d0, d2, d3, d1"), AVX2, []),  # a transpose
        (Model((8, 64, 7, 7), order="d1, d0, d2, d3"), AVX2, ["1x8+1"]),
        (Model(element="f64"), VectorRegisters(bits=32, count=8), []),  # wider than a vector
        (Model(), None, []),
    ],
)
def test_rows_are_parted_into_vectors_and_a_rest(
    model: Model, registers: VectorRegisters | None, expected: list[str]
) -> None:
    tiles = {str(c.tile) for c, _ in found(model.text, registers) if _is_row_major(c)}
    assert sorted(tiles) == expected


def _is_row_major(candidate: Candidate) -> bool:
    return all(layout.is_row_major for _, layout in candidate.layouts)


def the_op(model: Model, threads: int = 1) -> tuple[Structured, str]:
    form = next(f for c, f in found(model.text, threads=threads) if _is_row_major(c))
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured))
    return op, body_text(form.graph)


def test_the_compiler_is_told_of_whole_rows() -> None:
    op, text = the_op(Model())
    assert op.domain == (64, 196)
    assert op.schedule == Schedule((64, 196), (1, 8), (0, 0), peeled=True)
    assert "enable_loop_peeling" in text
    assert "distribution = [64, 196], vector_common_parallel = [1, 8]" in text
    assert "enable_loop_peeling" not in the_op(Model((1, 64, 16, 16)))[1]


def test_threads_share_the_outermost_loop() -> None:
    op, _ = the_op(Model(), threads=4)
    assert op.schedule is not None
    assert op.schedule.distribution == (16, 196)
    op, _ = the_op(Model((1, 64, 14, 14), factors="d0"), threads=4)
    assert op.schedule is not None
    assert op.domain == (12544,)
    assert op.schedule.distribution == (3136,)


def test_a_scheduled_transpose_of_outer_dims_is_no_named_op() -> None:
    text = """
func.func @main(%x: tensor<4x64x49xf32>) -> tensor<64x4x49xf32> {
  %e = tensor.empty() : tensor<64x4x49xf32>
  %r = linalg.transpose ins(%x : tensor<4x64x49xf32>) outs(%e : tensor<64x4x49xf32>)
      permutation = [1, 0, 2]
  return %r : tensor<64x4x49xf32>
}
"""
    texts = [body_text(form.graph) for c, form in found(text) if _is_row_major(c)]
    assert texts
    assert all("linalg.generic" in t and "compilation_info" in t for t in texts)
