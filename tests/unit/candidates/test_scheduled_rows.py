"""Rows that are reduced on a GPU: what is one dispatch, how lanes share it, what it computes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from layoutopt.candidates.scheduled_rows import row_tiles, with_rows
from layoutopt.compiler.gpu import GpuUnits
from layoutopt.ir.graph import Constant, DispatchRegion, Graph, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.schedule import RowTile
from layoutopt.mlir.write.emit import function_text
from layoutopt.oracle.evaluate import evaluate
from tests.parsing import lifted, verified

UNITS = GpuUnits(subgroup=32, most_threads=1024, memory_bytes=1 << 16)
TILE = RowTile(32, 1, 1)
TOLERANCE = {"f32": 1e-6, "f16": 4e-3}
"""Sums go in another order where loops are merged."""


@dataclass(frozen=True)
class Normalized:
    """exp(x * 0.125 + b - max) / sum over the last ``reduced`` dims, and more results if asked."""

    shape: tuple[int, ...] = (3, 5, 40)
    reduced: int = 1
    element: str = "f32"
    transposed: bool = False
    results: tuple[str, ...] = ("y",)

    @property
    def text(self) -> str:
        rank = len(self.shape)
        rows = self.shape[: rank - self.reduced]
        x, r = self._type(self.shape), self._type(rows)
        dims = [f"d{d}" for d in range(rank)]
        last = ", ".join(dims)
        crossed = ", ".join((*dims[:-2], dims[-1], dims[-2])) if self.transposed else last
        source = self._type((*self.shape[:-2], *self.shape[:-3:-1])) if self.transposed else x
        along = ", ".join(dims[len(rows) :])
        bias = self._type(self.shape[len(rows) :])

        def of(*places: str) -> str:
            return ", ".join(f"affine_map<({last}) -> ({place})>" for place in places)

        e, own = self.element, ", ".join(dims[: len(rows)])
        parallel = ", ".join(['"parallel"'] * rank)
        kinds = ", ".join(['"parallel"'] * len(rows) + ['"reduction"'] * self.reduced)
        lowest = {"f32": "0xFF800000", "f16": "0xFC00"}[e]
        types = {"y": x, "sum": r, "scaled": x}
        named = ", ".join(f"%{name}" for name in self.results)
        kept = ", ".join(types[name] for name in self.results)
        return f"""
func.func @main(%x: {source}, %b: {bias}) -> ({kept}) {{
  %eighth = arith.constant dense<0.125> : tensor<{e}>
  %low = arith.constant {lowest} : {e}
  %zero = arith.constant 0.0 : {e}
  %ex = tensor.empty() : {x}
  %er = tensor.empty() : {r}
  %scaled = linalg.generic {{indexing_maps = [{of(crossed, "", along, last)}],
      iterator_types = [{parallel}]}}
      ins(%x, %eighth, %b : {source}, tensor<{e}>, {bias})
      outs(%ex : {x}) {{
  ^bb0(%p: {e}, %q: {e}, %s: {e}, %o: {e}):
    %v = arith.mulf %p, %q : {e}
    %w = arith.addf %v, %s : {e}
    linalg.yield %w : {e}
  }} -> {x}
  %f0 = linalg.fill ins(%low : {e}) outs(%er : {r}) -> {r}
  %max = linalg.generic {{indexing_maps = [{of(last, own)}], iterator_types = [{kinds}]}}
      ins(%scaled : {x}) outs(%f0 : {r}) {{
  ^bb0(%p: {e}, %o: {e}):
    %v = arith.maximumf %p, %o : {e}
    linalg.yield %v : {e}
  }} -> {r}
  %exp = linalg.generic {{indexing_maps = [{of(last, own, last)}], iterator_types = [{parallel}]}}
      ins(%scaled, %max : {x}, {r}) outs(%ex : {x}) {{
  ^bb0(%p: {e}, %q: {e}, %o: {e}):
    %v = arith.subf %p, %q : {e}
    %w = math.exp %v : {e}
    linalg.yield %w : {e}
  }} -> {x}
  %f1 = linalg.fill ins(%zero : {e}) outs(%er : {r}) -> {r}
  %sum = linalg.generic {{indexing_maps = [{of(last, own)}], iterator_types = [{kinds}]}}
      ins(%exp : {x}) outs(%f1 : {r}) {{
  ^bb0(%p: {e}, %o: {e}):
    %v = arith.addf %o, %p : {e}
    linalg.yield %v : {e}
  }} -> {r}
  %y = linalg.generic {{indexing_maps = [{of(last, own, last)}], iterator_types = [{parallel}]}}
      ins(%exp, %sum : {x}, {r}) outs(%ex : {x}) {{
  ^bb0(%p: {e}, %q: {e}, %o: {e}):
    %v = arith.divf %p, %q : {e}
    linalg.yield %v : {e}
  }} -> {x}
  return {named} : {kept}
}}
"""

    def _type(self, shape: tuple[int, ...]) -> str:
        return f"tensor<{''.join(f'{n}x' for n in shape)}{self.element}>"


def bare(model: Normalized) -> tuple[Graph, dict[int, str]]:
    """The graph as candidates have it: its constants are inputs. And the values of these."""
    graph = lifted(model.text)
    ops = tuple(op for op in graph.ops if not isinstance(op, Constant))
    inputs = (*graph.inputs, *graph.splats)
    return Graph(graph.types, ops, inputs, graph.outputs), dict(graph.splats)


def written(model: Normalized, tile: RowTile = TILE) -> tuple[Graph, Graph, list[Structured]]:
    """The graph as it came, in rows, and the ops of its dispatch."""
    graph, splats = bare(model)
    found = with_rows(graph, tile, splats)
    assert isinstance(found, Graph)
    (region,) = (op for op in found.ops if isinstance(op, DispatchRegion))
    return graph, found, [op for op in region.ops if isinstance(op, Structured)]


@pytest.mark.parametrize(
    "model",
    [
        Normalized(),
        Normalized(shape=(7, 19)),
        Normalized(shape=(2, 1, 3, 33)),
        Normalized(shape=(4, 3, 8), reduced=2),
        Normalized(element="f16"),
        Normalized(results=("y", "sum", "scaled")),
        Normalized(results=("sum",)),
    ],
    ids=str,
)
def test_the_dispatch_computes_what_the_ops_did(model: Normalized) -> None:
    graph, found, _ = written(model)
    rng = np.random.default_rng(0)
    dtype = {"f32": np.float32, "f16": np.float16}[model.element]
    given = {t: rng.standard_normal(graph.types[t].shape).astype(dtype) for t in graph.inputs}
    given[graph.inputs[-1]] = np.array(0.125, dtype)
    mine, theirs = evaluate(found, given), evaluate(graph, given)
    for t in graph.outputs:
        np.testing.assert_allclose(mine[t], theirs[t], rtol=TOLERANCE[model.element])
    assert "flow.dispatch.region" in verified(found)


def test_what_is_read_of_a_row_is_computed_by_each_op() -> None:
    _, found, ops = written(Normalized())
    assert [op.domain for op in ops] == [(15, 40)] * 3
    assert [len(op.reduction_dims) for op in ops] == [1, 1, 0]
    names = [[scalar.name.partition(".")[2] for scalar in op.body.ops] for op in ops]
    assert [n.count("exp") for n in names] == [0, 1, 1]
    assert [n.count("mulf") for n in names] == [1, 1, 1]
    inputs = {t for op in ops for t in op.sources}
    assert sum(found.types[t].shape == () for t in inputs) == 0, "a number is written where it is"


def test_results_over_elements_are_one_op() -> None:
    _, _, ops = written(Normalized(results=("y", "sum", "scaled")))
    assert [len(op.results) for op in ops] == [1, 1, 2]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Normalized(shape=(3, 5, 15)), "several rows of at least 16 elements"),
        (Normalized(shape=(40,)), "several rows of at least 16 elements"),
        (Normalized(transposed=True), "along the last dim of what is read"),
        (Normalized(results=("scaled",)), "rows that are reduced, but got none"),
    ],
    ids=str,
)
def test_other_graphs_are_refused(model: Normalized, reason: str) -> None:
    graph, _ = bare(model)
    if model.results == ("scaled",):
        kept = [o for o in graph.ops if not isinstance(o, Structured) or not o.reduction_dims]
        makers = {t for o in kept[:2] for t in o.outputs}
        kept = [o for o in kept if {*o.outputs} <= makers]
        graph = Graph(graph.types, tuple(kept), graph.inputs, graph.outputs)
    found = with_rows(graph, TILE, {})
    assert isinstance(found, Refusal)
    assert reason in found.reason
    assert row_tiles(graph, UNITS) == ()


def test_a_window_that_leaves_some_of_a_row_reads_no_whole_row() -> None:
    graph = lifted("""
func.func @main(%x: tensor<2x6x40xf32>, %w: tensor<38xf32>) -> tensor<2x6x1xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x1xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x6x1xf32>) -> tensor<2x6x1xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(a, b, c, k) -> (a, b, 3 * c + k)>,
      affine_map<(a, b, c, k) -> (k)>, affine_map<(a, b, c, k) -> (a, b, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x6x40xf32>, tensor<38xf32>) outs(%i : tensor<2x6x1xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<2x6x1xf32>
  return %y : tensor<2x6x1xf32>
}""")
    assert row_tiles(graph, UNITS) == ()
    found = with_rows(graph, TILE, {})
    assert found == Refusal("expected operands that are read as a whole, but got a part of one")


@pytest.mark.parametrize(
    ("shape", "element", "expected"),
    [
        ((12, 197, 197), "f16", ["1x32 lanes", "4x32 lanes"]),
        (
            (128, 768),
            "f32",
            [
                "1x32 lanes",
                "1x32 lanes, 4 elements at once",
                "4x32 lanes",
                "4x32 lanes, 4 elements at once",
                "16x32 lanes",
            ],
        ),
        ((64, 20), "f32", ["1x32 lanes", "1x32 lanes, 4 elements at once"]),
    ],
)
def test_tiles_follow_from_rows_and_lanes(
    shape: tuple[int, ...], element: str, expected: list[str]
) -> None:
    graph, _ = bare(Normalized(shape=shape, element=element))
    assert sorted(map(str, row_tiles(graph, UNITS))) == sorted(expected)


def test_the_compiler_is_told_of_each_op() -> None:
    _, found, _ = written(Normalized(results=("y", "sum")), RowTile(32, 4, 1))
    text = function_text(found, found.inputs, found.outputs, "main")
    basis = "lane_basis = [[1, 32], [0, 1]], subgroup_basis = [[1, 4], [0, 1]], thread = [0, 1]"
    assert text.count(basis) == 3
    assert text.count("partial_reduction = [0, 128], workgroup = [1, 0]") == 2
    assert text.count("serial = [0, 128]") == 1
    assert text.count("compilation_info =") == 1
    assert "workgroup_size = [128, 1, 1] subgroup_size = 32" in text
