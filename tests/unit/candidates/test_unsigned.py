"""Contractions of bytes with one factor unsigned: the same sums, and where they are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutopt.candidates.explore import explore
from layoutopt.candidates.form import Form
from layoutopt.candidates.unsigned import multiplies_bytes, with_unsigned_bytes
from layoutopt.ir.graph import FusionBarrier, Graph, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.oracle import evaluate
from layoutopt.profiles.target import Target, load_target
from tests.parsing import lifted


def matmul(
    lhs: str,
    rhs: str,
    result: str,
    *,
    swapped: bool = False,
    rows: int = 5,
    columns: int = 4,
    added: bool = False,
) -> Graph:
    """A matmul of 5x6 by 6x4 of such elements.

    ``swapped``: its maps name the weights first. ``added``: to a tensor, in place of zeros.
    """
    x, w = f"tensor<{rows}x6x{lhs}>", f"tensor<6x{columns}x{rhs}>"
    y = f"tensor<{rows}x{columns}x{result}>"
    maps = ["affine_map<(m, n, k) -> (m, k)>", "affine_map<(m, n, k) -> (k, n)>"]
    ins, kinds = ["%x", "%w"], [x, w]
    if swapped:
        maps, ins, kinds = maps[::-1], ins[::-1], kinds[::-1]
    casts = [
        f"%{name} = arith.extsi %{source} : {kind} to {result}"
        for name, source, kind in (("c", "a", lhs), ("d", "b", rhs))
        if kind != result
    ]
    c, d = ("c" if lhs != result else "a"), ("d" if rhs != result else "b")
    suffix, zero = ("f", "0.0") if result == "f32" else ("i", "0")
    return lifted(f"""
func.func @main(%x: {x}, %w: {w}{f", %to: {y}" if added else ""}) -> {y} {{
  %zero = arith.constant {zero} : {result}
  %e = tensor.empty() : {y}
  %f = linalg.fill ins(%zero : {result}) outs(%e : {y}) -> {y}
  %r = linalg.generic {{indexing_maps = [{", ".join(maps)}, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins({", ".join(ins)} : {", ".join(kinds)}) outs({"%to" if added else "%f"} : {y}) {{
  ^bb0(%a: {lhs}, %b: {rhs}, %o: {result}):
    {"".join(f"{line}{chr(10)}    " for line in casts)}
    %p = arith.mul{suffix} %{c}, %{d} : {result}
    %s = arith.add{suffix} %o, %p : {result}
    linalg.yield %s : {result}
  }} -> {y}
  return %r : {y}
}}
""")


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("weights_first", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(5, 4), (1, 4), (5, 1), (1, 1)])
@pytest.mark.parametrize("added", [False, True])
def test_the_sums_are_the_same(
    swapped: bool, weights_first: bool, rows: int, columns: int, added: bool
) -> None:
    graph = matmul("i8", "i8", "i32", swapped=swapped, rows=rows, columns=columns, added=added)
    weights = graph.inputs[0 if weights_first else 1]
    written = with_unsigned_bytes(graph, (weights,))
    assert isinstance(written, Graph)
    random = np.random.default_rng(0)
    given = {
        t: random.integers(-128, 128, kind.shape).astype(kind.element.replace("i", "int"))
        for t, kind in ((t, graph.types[t]) for t in graph.inputs)
    }
    expected = evaluate(graph, given)[graph.outputs[0]]
    assert np.array_equal(evaluate(written, given)[graph.outputs[0]], expected)
    (tiled,) = [op for op in written.ops if isinstance(op, Structured) and op.data_tiled]
    unsigned = [op.operands[0] for op in tiled.body.ops if op.name == "arith.extui"]
    assert len(unsigned) == 1
    assert tiled.sources[unsigned[0]] != weights
    behind = {op.source: op.result for op in written.ops if isinstance(op, FusionBarrier)}
    assert tiled.results[0] in behind
    assert tiled.sources[unsigned[0]] in behind.values()
    assert min(tiled.domain) > 1, "IREE makes no tiles of one row"


def test_windows_are_left_alone() -> None:
    graph = lifted("""
func.func @main(%x: tensor<9x3xi8>, %w: tensor<2x3x4xi8>) -> tensor<8x4xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8x4xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<8x4xi32>) -> tensor<8x4xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, f, k, c) -> (i + k, c)>,
      affine_map<(i, f, k, c) -> (k, c, f)>, affine_map<(i, f, k, c) -> (i, f)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<9x3xi8>, tensor<2x3x4xi8>) outs(%f : tensor<8x4xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %c = arith.extsi %a : i8 to i32
    %d = arith.extsi %b : i8 to i32
    %p = arith.muli %c, %d : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  } -> tensor<8x4xi32>
  return %r : tensor<8x4xi32>
}
""")
    assert any(isinstance(op, Structured) and op.is_contraction for op in graph.ops)
    assert not any(multiplies_bytes(op, graph) for op in graph.ops)


def test_other_contractions_are_refused() -> None:
    for elements in (("f32", "f32", "f32"), ("i8", "i8", "i8"), ("i8", "i32", "i32")):
        graph = matmul(*elements)
        assert not any(multiplies_bytes(op, graph) for op in graph.ops)
        assert with_unsigned_bytes(graph, ()) == Refusal(
            "expected a contraction of signed bytes summed in 32 bits, but got none"
        )


def byte_target() -> Target:
    """A processor with such instructions, for a model with bytes."""
    able = replace(load_target("x86-64-avx512"), byte_products=True)
    return able.tilings({"i8", "f32"})[1]


@pytest.mark.parametrize(
    ("element", "tiled", "elsewhere"),
    [("i8", Form.DATA_TILED_UNSIGNED, Form.DATA_TILED), ("f32", None, Form.DATA_TILED)],
)
def test_they_are_candidates_where_the_processor_has_them(
    element: str, tiled: Form | None, elsewhere: Form
) -> None:
    graph = matmul(element, element, "i32" if element == "i8" else "f32")
    for target, wanted in ((byte_target(), tiled), (load_target("x86-64-avx512"), elsewhere)):
        forms = {c.form for c in explore(graph, target).candidates if c.form.is_data_tiled}
        assert forms == ({wanted} if wanted else set())


def test_data_tiling_may_be_for_bytes_where_a_model_has_some() -> None:
    plain = load_target("x86-64-avx512")
    assert plain.tilings({"i8"}) == (plain,)
    able = replace(plain, byte_products=True)
    assert able.tilings({"f32", "i32"}) == (able,)
    first, second = able.tilings({"f32", "i8"})
    assert first == able
    assert not first.tiles_byte_products
    assert second.tiles_byte_products
    assert second.data_tiling_flags == (
        "--iree-opt-data-tiling",
        "--iree-llvmcpu-enable-inner-tiled",
    )
    untiled = replace(able, data_tiling_flags=())
    assert untiled.tilings({"i8"}) == (untiled,)
