"""Tiles of contractions: which are tried, where weights lie, and what the compiler is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.enumeration import enumerate_candidates
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.space import layout_sets
from layoutopt.compiler.processor import Processor, VectorRegisters
from layoutopt.ir.graph import Graph, Pack, Structured, Unpack
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.ir.size import Undecided
from layoutopt.ir.types import Array
from layoutopt.mlir.write.emit import body_text
from layoutopt.oracle import evaluate
from tests.parsing import lifted

AVX2, AVX512, NEON = (p.registers for p in (Processor.AVX2, Processor.AVX512, Processor.NEON))


def model(m: int, n: int, k: int, weights: bool = True, element: str = "f32") -> str:
    x, w, y = (f"tensor<{a}x{b}x{element}>" for a, b in ((m, k), (k, n), (m, n)))
    argument = "" if weights else f", %w: {w}"
    constant = f"%w = arith.constant dense_resource<w> : {w}" if weights else ""
    return f"""
func.func @main(%x: {x}{argument}) -> {y} {{
  {constant}
  %zero = arith.constant 0.0 : {element}
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : {element}) outs(%e : {y}) -> {y}
  %r = linalg.matmul ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
"""


def found(
    text: str, registers: VectorRegisters | None, threads: int = 1
) -> tuple[EGraph, list[tuple[Candidate, PhysicalForm]]]:
    egraph = saturate(lifted(text))
    clusters = form_clusters(egraph)
    forms = ContractionForms(registers=registers, threads=threads)
    candidates, _ = enumerate_candidates(egraph, clusters, layout_sets(egraph), forms)
    kept = [c for c in candidates if c.form.is_scheduled]
    pairs = []
    for c in kept:
        form = physical_form(egraph.graph, clusters[c.cluster], c)
        assert isinstance(form, PhysicalForm)
        pairs.append((c, form))
    return egraph, pairs


def in_panels(tiles: list[str], registers: VectorRegisters) -> list[str]:
    """The same tiles over panels that are a vector wide."""
    lanes = registers.bits // 32
    sizes = [tile.split("x") for tile in tiles]
    return sorted(f"{rows}x{int(columns) // lanes}x{lanes}" for rows, columns in sizes)


def tiles(text: str, registers: VectorRegisters | None, kind: Form) -> list[str]:
    return sorted({str(c.tile) for c, _ in found(text, registers)[1] if c.form is kind})


@pytest.mark.parametrize(
    ("m", "n", "registers", "expected"),
    [
        (128, 768, AVX512, ["13x32", "6x64"]),  # a rest costs less than lower tiles
        (196, 1024, AVX512, ["14x32", "6x64"]),
        (1, 4096, AVX512, ["1x32", "1x64"]),  # one row: a decoder's step
        (197, 768, AVX512, ["12x32", "6x64"]),  # no rows divide a prime: the rest is peeled off
        (17, 768, AVX512, ["13x32", "6x64"]),
        (50, 768, AVX512, ["10x32", "5x64"]),
        (197, 768, AVX2, ["2x32", "6x16"]),
        (128, 1000, AVX512, []),
        (128, 768, AVX2, ["2x32", "6x16"]),
        (128, 768, NEON, ["13x8", "6x16"]),
    ],
)
def test_tiles_fill_the_registers_and_divide_their_loops(
    m: int, n: int, registers: VectorRegisters, expected: list[str]
) -> None:
    assert tiles(model(m, n, 64), registers, Form.PANELS) == in_panels(expected, registers)
    # Beside these, what the transposed contraction takes.
    assert {*tiles(model(m, n, 64), registers, Form.SCHEDULED)} >= {*expected}


@pytest.mark.parametrize(
    ("k", "registers", "expected"),
    [
        (768, AVX512, ["12x32", "6x64"]),
        (1024, AVX512, ["6x64", "8x32"]),  # rows 4 KB apart share their lines with eight others
        (3072, AVX512, ["6x64", "8x32"]),
        (3088, AVX512, ["12x32", "6x64"]),  # a line more, and they do not
        (512, AVX512, ["12x32", "6x64"]),  # every second row
        (1024, replace(AVX512, ways=12), ["12x32", "6x64"]),
        (4096, NEON, ["12x8", "4x16", "4x8", "6x16"]),  # four ways of 16 KB; whole, and in parts
    ],
)
def test_a_line_of_each_row_stays_in_the_first_cache(
    k: int, registers: VectorRegisters, expected: list[str]
) -> None:
    assert tiles(model(197, 768, k), registers, Form.PANELS) == in_panels(expected, registers)


@pytest.mark.parametrize(
    ("n", "registers", "panels", "row_major"),
    [
        (96, AVX512, ["13x2x16", "6x4x16"], ["13x32"]),  # two panels are left of four at a time
        (400, AVX512, ["13x2x16", "6x4x16"], ["13x32+16", "6x64+16"]),
        (16, AVX512, ["16x16"], ["16x16"]),  # one panel
        (24, AVX2, ["6x2x8"], ["6x16+8"]),  # fewer than four
    ],
)
def test_panels_that_no_tile_divides_have_a_narrower_one_for_the_rest(
    n: int, registers: VectorRegisters, panels: list[str], row_major: list[str]
) -> None:
    assert tiles(model(128, n, 64), registers, Form.PANELS) == panels
    assert {*tiles(model(128, n, 64), registers, Form.SCHEDULED)} >= {*row_major}


def test_without_registers_the_compiler_chooses() -> None:
    assert found(model(128, 768, 64), None)[1] == []


def test_only_weights_lie_in_panels() -> None:
    text = model(128, 768, 64, weights=False)
    assert tiles(text, AVX512, Form.PANELS) == []
    assert {*tiles(text, AVX512, Form.SCHEDULED)} >= {"13x32", "6x64"}


def test_the_rest_of_the_rows_is_peeled_off() -> None:
    _, pairs = found(model(197, 128, 40), AVX512)
    tile = VectorTile(6, 16, panels=4)
    (form,) = [f for c, f in pairs if c.form is Form.PANELS and c.tile == tile]
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured))
    assert op.schedule == Schedule((197, 4, 16, 0), (6, 4, 16, 0), (0, 0, 0, 1), peeled=True)
    assert "#iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>>" in body_text(
        form.graph
    )


def test_many_rows_with_a_rest_are_shared_out_in_whole_tiles() -> None:
    _, pairs = found(model(1009, 128, 40), AVX512)
    tile = VectorTile(6, 16, panels=4)
    (form,) = [f for c, f in pairs if c.form is Form.PANELS and c.tile == tile]
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured))
    assert op.schedule is not None
    assert op.schedule.distribution == (204, 4, 16, 0)  # 5 workgroups, the last has 193 rows


@pytest.mark.parametrize(
    ("m", "n", "threads", "tile", "distribution"),
    [
        (169, 1000, 1, (13, 32, 8), (169, 1000, 0)),
        (169, 1000, 2, (13, 32, 8), (91, 1000, 0)),  # one workgroup of all rows would keep one busy
        (196, 768, 2, (14, 32, 0), (196, 32, 0)),  # there are 24 side by side
        (196, 768, 16, (14, 32, 0), (98, 32, 0)),  # of 48, all 16 get 3
        (196, 96, 16, (14, 32, 0), (42, 32, 0)),  # one for each of 15; 14 rows would take as long
        (128, 768, 64, (13, 32, 0), (26, 32, 0)),  # of 120, most get 2
    ],
)
def test_workgroups_keep_all_threads_busy(
    m: int, n: int, threads: int, tile: tuple[int, int, int], distribution: tuple[int, ...]
) -> None:
    wanted = VectorTile(*tile, threads)
    _, pairs = found(model(m, n, 64), AVX512, threads)
    form = next(f for c, f in pairs if (c.form, c.tile) == (Form.SCHEDULED, wanted))
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured))
    assert op.schedule is not None
    assert op.schedule.distribution == distribution
    rows, columns, _ = distribution
    assert op.schedule.peeled == bool(m % rows or m % tile[0] or n % columns or n % tile[1])


@pytest.mark.parametrize("element", ["f16", "f64", "bf16"])
def test_sums_of_other_types_are_left_to_the_compiler(element: str) -> None:
    """Those of f16 and bf16 may be kept in f32, which is scheduled."""
    _, pairs = found(model(128, 768, 64, element=element), AVX512)
    for _, form in pairs:
        made = [op for op in form.graph.ops if isinstance(op, Structured) and op.schedule]
        assert {form.graph.types[op.results[0]].element for op in made} == {"f32"}
    assert bool(pairs) == (element != "f64")


def test_panels_have_their_sums_in_the_order_of_what_they_are_multiplied_with() -> None:
    """A matrix of windows, sums over channels first or last: one loop over all of them."""
    loops = "d0, d1, d2, d3, d4"
    for order in ("d0, d2, d3, d1", "d0, d1, d2, d3"):  # rows, then sums in some order
        sizes = {"d0": 128, "d1": 16, "d2": 3, "d3": 3}
        x = "x".join(str(sizes[d]) for d in order.split(", "))
        text = f"""
func.func @main(%x: tensor<{x}xf32>) -> tensor<128x96xf32> {{
  %w = arith.constant dense_resource<w> : tensor<96x16x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x96xf32>) -> tensor<128x96xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({order})>,
      affine_map<({loops}) -> (d4, d1, d2, d3)>, affine_map<({loops}) -> (d0, d4)>],
      iterator_types = ["parallel", "reduction", "reduction", "reduction", "parallel"]}}
      ins(%x, %w : tensor<{x}xf32>, tensor<96x16x3x3xf32>)
      outs(%f : tensor<128x96xf32>) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }} -> tensor<128x96xf32>
  return %r : tensor<128x96xf32>
}}
"""
        _, pairs = found(text, AVX2)
        panels = [
            op
            for candidate, form in pairs
            if candidate.form is Form.PANELS
            for op in form.graph.ops
            if isinstance(op, Structured) and op.is_contraction
        ]
        assert panels
        assert {op.domain[d] for op in panels for d in op.reduction_dims} == {144}


def test_weights_lie_in_panels_and_nothing_is_packed_at_run_time() -> None:
    egraph, pairs = found(model(196, 96, 40), AVX512)
    tile = VectorTile(14, 16, panels=2)
    ((candidate, form),) = [p for p in pairs if p[0].form is Form.PANELS and p[0].tile == tile]
    weights = egraph.graph.ops[-1].inputs[1]
    assert candidate.layout_of(weights).physical_shape((40, 96)) == (6, 40, 16)
    others = [layout for t, layout in candidate.layouts if t != weights]
    assert all(layout.is_row_major for layout in others)
    assert not any(isinstance(op, Pack | Unpack) for op in form.graph.ops)
    (op,) = (o for o in form.graph.ops if isinstance(o, Structured))
    assert op.domain == (196, 6, 16, 40)
    assert op.schedule == Schedule((196, 2, 16, 0), (14, 2, 16, 0), (0, 0, 0, 1))
    text = body_text(form.graph)
    assert "linalg.generic" in text
    assert (
        "lowering_config = #iree_cpu.lowering_config<distribution = [196, 2, 16, 0], "
        "vector_common_parallel = [14, 2, 16, 0], vector_reduction = [0, 0, 0, 1]>" in text
    )


def test_many_rows_are_shared_out_among_workgroups() -> None:
    _, pairs = found(model(3136, 64, 64), AVX512)
    forms = [f for c, f in pairs if c.form is Form.SCHEDULED and c.tile == VectorTile(14, 32)]
    ops = [op for form in forms for op in form.graph.ops if isinstance(op, Structured)]
    assert {op.schedule for op in ops} == {
        Schedule((196, 32, 0), (14, 32, 0), (0, 0, 1)),
        Schedule((64, 32, 0), (14, 32, 0), (0, 0, 1), peeled=True),  # of the transposed one
    }


@pytest.mark.parametrize("rows", [12, 13])
def test_scheduled_forms_compute_the_same(rows: int) -> None:
    egraph, pairs = found(model(rows, 64, 10), AVX2)
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, (rows, 10)).astype(np.float32)
    w = rng.integers(-4, 5, (10, 64)).astype(np.float32)
    assert {c.form for c, _ in pairs} == {Form.PANELS, Form.SCHEDULED}
    assert_computed(egraph, pairs, x, w)


def assert_computed(
    egraph: EGraph, pairs: list[tuple[Candidate, PhysicalForm]], x: Array, w: Array
) -> None:
    for candidate, form in pairs:
        op = egraph.graph.ops[-1]
        lhs, rhs = (candidate.layout_of(t) for t in op.inputs)
        given = {form.inputs[0]: lhs.apply(x), form.weights[0]: rhs.apply(w)}
        (result,) = form.outputs
        wanted = candidate.layout_of(op.outputs[0]).apply(x @ w)
        assert np.array_equal(evaluate(form.graph, given)[result], wanted)


@pytest.mark.parametrize(
    ("m", "n", "registers", "expected"),
    [
        (196, 1000, AVX512, ["14x32+8", "28x16+8"]),  # of 64 half a tile would be left, and more
        (196, 68, AVX512, ["14x32+4", "6x64+4"]),
        (196, 144, AVX512, ["14x32+16", "6x64+16"]),
        (196, 58, AVX512, ["28x16+10"]),  # 26 is no power of two: vectors of 26 are slow
        (196, 44, AVX512, ["14x32+12", "28x16+12"]),
        (196, 112, AVX512, ["14x32+16", "28x16"]),
        (196, 8, AVX512, ["28x8"]),
        (196, 3, AVX512, []),
        (196, 24, AVX2, ["14x8", "6x16+8"]),
    ],
)
def test_the_rest_of_the_columns_is_peeled_off(
    m: int, n: int, registers: VectorRegisters, expected: list[str]
) -> None:
    text = model(m, n, 10)
    along_columns = [t for t in tiles(text, registers, Form.SCHEDULED) if t in expected]
    assert along_columns == expected
    assert bool(tiles(text, registers, Form.PANELS)) == (n % (registers.bits // 32) == 0)
    egraph, pairs = found(text, registers)
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, 10), (10, n)))
    assert_computed(egraph, pairs, x, w)


def test_a_workgroup_has_all_columns_where_tiles_leave_some() -> None:
    _, pairs = found(model(196, 68, 40), AVX512)
    forms = [f for c, f in pairs if c.tile == VectorTile(14, 32, 4)]
    ops = [o for form in forms for o in form.graph.ops if isinstance(o, Structured)]
    (op,) = (o for o in ops if o.domain[0] == 196)
    assert op.schedule == Schedule((196, 68, 0), (14, 32, 0), (0, 0, 1), peeled=True)


@pytest.mark.parametrize(("rows", "tiled"), [("8", True), ("?", False)])
def test_a_batch_of_open_sizes_is_not_data_tiled(rows: str, tiled: bool) -> None:
    """IREE 3.13 computes some of them wrong inside a model."""
    x, y = f"tensor<4x{rows}x64xf32>", f"tensor<4x{rows}x32xf32>"
    w, size = "tensor<4x64x32xf32>", "(%m)" if rows == "?" else "()"
    egraph = saturate(
        lifted(f"""
func.func @main(%x: {x}, %w: {w}) -> {y} {{
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c1 : {x}
  %e = tensor.empty{size} : {y}
  %f = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
  %r = linalg.batch_matmul ins(%x, %w : {x}, {w}) outs(%f : {y}) -> {y}
  return %r : {y}
}}
""")
    )
    forms = ContractionForms(data_tiling=True)
    clusters = form_clusters(egraph)
    candidates, _ = enumerate_candidates(egraph, clusters, layout_sets(egraph), forms)
    assert any(c.form is Form.DATA_TILED for c in candidates) == tiled


def test_a_form_that_asks_what_is_not_known_of_a_size_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    egraph, ((candidate, _), *_) = found(model(128, 768, 64), AVX512)

    def asks(*_: object) -> Graph:
        raise Undecided("expected to know whether 32*b - 32 < 0")

    monkeypatch.setattr("layoutopt.candidates.form.with_schedule", asks)
    cluster = form_clusters(egraph)[candidate.cluster]
    form = physical_form(egraph.graph, cluster, candidate)
    assert form == Refusal("expected to know whether 32*b - 32 < 0")
