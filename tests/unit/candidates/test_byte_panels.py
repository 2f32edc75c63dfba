"""Weights of bytes in panels: which contractions take them, what is written, and the same sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.explore import explore
from layoutopt.candidates.form import Form
from layoutopt.candidates.one_dispatch import in_dispatch_regions
from layoutopt.compiler.installed import quirks
from layoutopt.ir.graph import Constant, DispatchRegion, Graph, Structured, each_op
from layoutopt.mlir.write.emit import function_text
from layoutopt.oracle import evaluate
from layoutopt.profiles.target import Target, load_target
from tests.parsing import lifted

ABLE = replace(load_target("x86-64-avx512"), byte_products=True)
FOLLOWED = """
  %b = arith.constant dense_resource<b> : tensor<{n}xi32>
  %o = tensor.empty() : tensor<{m}x{n}xi8>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%y, %b : tensor<{m}x{n}xi32>, tensor<{n}xi32>) outs(%o : tensor<{m}x{n}xi8>) {{
  ^bb0(%s: i32, %c: i32, %old: i8):
    %t = arith.addi %s, %c : i32
    %u = arith.trunci %t : i32 to i8
    linalg.yield %u : i8
  }} -> tensor<{m}x{n}xi8>
  return %r : tensor<{m}x{n}xi8>"""

READ_TWICE = """
  %o = tensor.empty() : tensor<{m}x{n}xi32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%y : tensor<{m}x{n}xi32>) outs(%o : tensor<{m}x{n}xi32>) {{
  ^bb0(%s: i32, %old: i32):
    %t = arith.maxsi %s, %zero : i32
    linalg.yield %t : i32
  }} -> tensor<{m}x{n}xi32>
  %p = tensor.empty() : tensor<{m}x{n}xi8>
  %q = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%r : tensor<{m}x{n}xi32>) outs(%p : tensor<{m}x{n}xi8>) {{
  ^bb0(%s: i32, %old: i8):
    %t = arith.trunci %s : i32 to i8
    linalg.yield %t : i8
  }} -> tensor<{m}x{n}xi8>
  return %r, %q : tensor<{m}x{n}xi32>, tensor<{m}x{n}xi8>"""


def model(
    m: int | str, n: int, k: int, *, constant: bool = True, element: str = "i8", follow: str = ""
) -> Graph:
    """A matmul of bytes; ``follow``: what is computed from its sums."""
    weights = f"tensor<{k}x{n}x{element}>"
    given = "" if constant else f", %w: {weights}"
    sums = f"tensor<{m}x{n}xi32>"
    read = f"%w = arith.constant dense_resource<w> : {weights}" if constant else ""
    made = follow.rpartition("return")[2].partition(":")[2].format(m=m, n=n) if follow else sums
    known = m != "?"
    return lifted(f"""
func.func @main(%x: tensor<{m}x{k}x{element}>{given}) -> ({made}) {{
  %zero = arith.constant 0 : i32
  {read}
  {"" if known else "%c0 = arith.constant 0 : index"}
  {"" if known else f"%d = tensor.dim %x, %c0 : tensor<{m}x{k}x{element}>"}
  %e = tensor.empty({"" if known else "%d"}) : {sums}
  %f = linalg.fill ins(%zero : i32) outs(%e : {sums}) -> {sums}
  %y = linalg.matmul ins(%x, %w : tensor<{m}x{k}x{element}>, {weights}) outs(%f : {sums}) -> {sums}
  {follow.format(m=m, n=n) or f"return %y : {sums}"}
}}
""")


def panels(
    graph: Graph, target: Target = ABLE
) -> tuple[Graph, list[tuple[Candidate, Cluster, PhysicalForm]]]:
    """The graph with all alternatives, and the candidates whose weights are bytes in panels."""
    space = explore(graph, target)
    found = []
    for candidate in space.candidates:
        if candidate.form is Form.BYTE_PANELS:
            cluster = space.clusters[candidate.cluster]
            form = physical_form(space.egraph.graph, cluster, candidate)
            assert isinstance(form, PhysicalForm)
            found.append((candidate, cluster, form))
    return space.egraph.graph, found


@pytest.mark.parametrize(
    ("m", "n", "k", "tile"),
    [
        (28, 64, 64, "14x2x16"),  # two vectors side by side divide the columns
        (28, 48, 64, "28x16"),  # one does
        (169, 1000, 512, "13x16"),  # none: 1,008 columns
        (3025, 64, 27, "11x2x16"),  # sums of 28
        (7, 64, 64, "7x2x16"),  # fewer rows than registers are for
    ],
)
def test_the_tile_follows_from_registers_and_rows(m: int, n: int, k: int, tile: str) -> None:
    _, found = panels(model(m, n, k))
    assert {str(c.tile) for c, _, _ in found} == {tile}


@pytest.mark.parametrize(
    ("graph", "target"),
    [
        (model(28, 64, 64), load_target("x86-64-avx512")),  # no such instruction
        (model(28, 64, 64, constant=False), ABLE),  # no weights
        (model(197, 64, 64), ABLE),  # a prime: no tile of rows divides it
        (model("?", 64, 64), ABLE),
        (model(28, 55, 64), ABLE),  # more than an eighth would be padding
        (model(28, 64, 4), ABLE),  # one step
        (model(28, 64, 64, element="i16"), ABLE),
    ],
)
def test_there_are_none_elsewhere(graph: Graph, target: Target) -> None:
    assert panels(graph, target)[1] == []


@pytest.mark.parametrize("follow", ["", FOLLOWED])
@pytest.mark.parametrize(("m", "n", "k"), [(12, 32, 8), (9, 48, 12), (6, 30, 10), (13, 16, 7)])
def test_sums_are_the_same(m: int, n: int, k: int, follow: str) -> None:
    graph, found = panels(model(m, n, k, follow=follow))
    assert found
    rng = np.random.default_rng(3)
    kinds = {"i8": np.int8, "i32": np.int32}
    weights = [op.outputs[0] for op in graph.ops if isinstance(op, Constant)]
    given = {
        t: rng.integers(-128, 128, graph.types[t].shape).astype(kinds[graph.types[t].element])
        for t in (*graph.inputs, *weights)
    }
    known = evaluate(graph, given)
    for candidate, cluster, form in found:
        layouts = dict(candidate.layouts)
        tensors = zip(
            (*form.inputs, *form.weights), (*cluster.inputs, *cluster.weights), strict=True
        )
        made = evaluate(form.graph, {at: layouts[t].apply(known[t]) for at, t in tensors})
        for place, tensor in zip(form.outputs, cluster.outputs, strict=True):
            shape = graph.types[tensor].shape
            assert np.array_equal(layouts[tensor].undo(made[place], shape), known[tensor])


@pytest.mark.parametrize("follow", ["", FOLLOWED])
def test_what_is_computed_from_the_sums_is_in_their_dispatch(follow: str) -> None:
    """The correction of unsigned bytes, with the rest as one op, over vectors as the sums."""
    _, found = panels(model(28, 64, 64, follow=follow))
    for _, _, form in found:
        (region,) = [op for op in form.graph.ops if isinstance(op, DispatchRegion)]
        contraction, after = region.ops
        assert isinstance(contraction, Structured)
        assert contraction.schedule is not None
        assert isinstance(after, Structured)
        assert len(after.domain) == 4


@pytest.mark.parametrize(("follow", "inside", "behind"), [(FOLLOWED, 2, 0), (READ_TWICE, 2, 1)])
def test_a_region_ends_with_what_is_stored(follow: str, inside: int, behind: int) -> None:
    graph = model(6, 8, 4, constant=False, follow=follow)
    (place,) = [
        i for i, op in enumerate(graph.ops) if isinstance(op, Structured) and op.is_contraction
    ]
    found = in_dispatch_regions(graph, [place])
    (at,) = [i for i, op in enumerate(found.ops) if isinstance(op, DispatchRegion)]
    region = found.ops[at]
    assert isinstance(region, DispatchRegion)
    assert len(region.ops) == inside
    assert sum(isinstance(op, Structured) for op in found.ops[at:]) == behind
    rng = np.random.default_rng(4)
    kinds = {"i8": np.int8, "i32": np.int32}
    weights = [op.outputs[0] for op in graph.ops if isinstance(op, Constant) and op.splat is None]
    given = {
        t: rng.integers(-99, 99, graph.types[t].shape).astype(kinds[graph.types[t].element])
        for t in (*graph.inputs, *weights)
    }
    known, again = evaluate(graph, given), evaluate(found, given)
    assert all(np.array_equal(known[t], again[t]) for t in graph.outputs)


def test_sums_that_nothing_is_computed_from_are_alone() -> None:
    graph = model(6, 8, 4, constant=False)
    (place,) = [
        i for i, op in enumerate(graph.ops) if isinstance(op, Structured) and op.is_contraction
    ]
    region = in_dispatch_regions(graph, [place]).ops[place]
    assert isinstance(region, DispatchRegion)
    assert len(region.ops) == 1


def test_the_instruction_is_written() -> None:
    _, found = panels(model(28, 64, 64))
    for _, _, form in found:
        arguments = (*form.inputs, *form.weights)
        text = function_text(form.graph, arguments, form.outputs, "main")
        assert text.count("MMA_X86_AVX512VNNI_1x16x4_I32_UI8_I8, intrinsics_n = 2") == 1
        assert "distribution = [28, 1, 0], vector_common_parallel = [14, 1, 0]" in text
        assert "tensor<28x16x4xi8>, tensor<2x16x2x16x4xi8> into tensor<28x2x2x16xi32>" in text
    assert "inner_tiled" in quirks().byte_products


def test_work_inside_of_a_region_is_counted() -> None:
    _, found = panels(model(28, 64, 64, follow=FOLLOWED))
    for _, _, form in found:
        ops = [op for op in each_op(form.graph.ops) if isinstance(op, Structured)]
        assert sum(op.schedule is not None for op in ops) == 1
