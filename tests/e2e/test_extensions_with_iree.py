"""Extensions mean what IREE computes, and the rest of a model is planned around them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import layoutopt
from layoutopt.ir.extension import Extension
from layoutopt.ir.extensions import EXTENSIONS
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import Array, TensorType
from layoutopt.mlir.module import parse_module
from layoutopt.mlir.write.emit import function_text
from layoutopt.oracle import evaluate_bounded
from layoutopt.profiles.target import load_target
from layoutopt.rules.propagation import propagate, relayout
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import Caller, ModelCall
from layoutopt.runtime.setting import RunSetting
from tests.extension_inputs import random_inputs

CASES = [
    pytest.param(op, types, id=f"{kind.mlir_name} {place}")
    for kind in EXTENSIONS
    for place, (op, types) in enumerate(kind.examples())
]
FIRST = [
    pytest.param(*case.values, id=case.id, marks=() if place == 0 else pytest.mark.long)
    for case in CASES
    for place in [int(str(case.id).split()[-1])]
]
"""One of each kind; `make test` leaves the others out."""
ATTENTION = """
func.func @main(%q: tensor<2x16x32xf32>, %k: tensor<2x16x32xf32>, %v: tensor<2x16x32xf32>)
    -> tensor<2x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x32x16xf32>
  %kt = linalg.transpose ins(%k : tensor<2x16x32xf32>) outs(%e : tensor<2x32x16xf32>)
    permutation = [0, 2, 1]
  %se = tensor.empty() : tensor<2x16x16xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %s = linalg.batch_matmul ins(%q, %kt : tensor<2x16x32xf32>, tensor<2x32x16xf32>)
    outs(%s0 : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x16x16xf32>)
    outs(%se : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %oe = tensor.empty() : tensor<2x16x32xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x16x16xf32>, tensor<2x16x32xf32>)
    outs(%o0 : tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  return %o : tensor<2x16x32xf32>
}
"""


@pytest.mark.parametrize(("op", "types"), FIRST)
def test_the_oracle_means_what_iree_computes(
    op: Extension, types: tuple[TensorType, ...], tmp_path: Path
) -> None:
    graph = Graph(types, (op,), op.inputs, op.outputs)
    call = compiled({"main": graph}, tmp_path)
    for seed, scale in enumerate((1e-3, 1.0, 30.0)):
        values = random_inputs(op, types, seed, scale)
        found, errors = evaluate_bounded(graph, values)
        for tensor, array in zip(op.outputs, call("main", values), strict=True):
            error = errors.get(tensor, np.zeros(()))
            assert array.dtype == found[tensor].dtype
            assert (difference(array, found[tensor]) <= error).all()
            size = max(1.0, float(np.abs(found[tensor].astype(np.float64)).max()))
            assert error.max() < 0.1 * size, "the bound says something"


@pytest.mark.parametrize(("op", "types"), FIRST)
def test_iree_computes_the_same_in_layouts(
    op: Extension, types: tuple[TensorType, ...], tmp_path: Path
) -> None:
    """Dims in every order of two, and tiles, of which some are not filled."""
    graphs: dict[str, Graph] = {}
    chosen: dict[str, Mapping[int, Layout]] = {}
    for layout in some_layouts(len(types[op.results[0]].shape)):
        found = propagate(op, types, op.results[0], layout)
        if not isinstance(found, Refusal):
            name = f"layout{len(graphs)}"
            graphs[name], chosen[name] = in_memory(op, types, found), found
    assert graphs, "row-major tensors are taken"
    call = compiled(graphs, tmp_path)
    values = random_inputs(op, types, 0)
    wanted, errors = evaluate_bounded(Graph(types, (op,), op.inputs, op.outputs), values)
    for name, graph in graphs.items():
        layouts = chosen[name]
        given = {
            p: layouts[t].apply(values[t], 1 if layouts[t].padding is Padding.ANY else None)
            for p, t in zip(graph.inputs, op.inputs, strict=True)
        }
        for tensor, array in zip(op.outputs, call(name, given), strict=True):
            logical = layouts[tensor].undo(array, types[tensor].shape)
            error = errors.get(tensor, np.zeros(()))
            assert (difference(logical, wanted[tensor]) <= error).all(), str(layouts[tensor])


def some_layouts(rank: int) -> list[Layout]:
    """Row-major, two dims exchanged, and a tile of each dim."""
    dims = tuple(range(rank))
    found = [Layout(dims)]
    for a, b in itertools.combinations(dims, 2):
        order = list(dims)
        order[a], order[b] = b, a
        found.append(Layout(tuple(order)))
    return found + [Layout(dims, (d,), (3,), Padding.ANY) for d in dims]


def in_memory(op: Extension, types: tuple[TensorType, ...], layouts: Assignment) -> Graph:
    physical = Physical(types)
    assert relayout(op, layouts, physical) is None
    read = [physical.tensor(t, layouts[t]) for t in op.inputs]
    return physical.builder.build(read, [physical.tensor(t, layouts[t]) for t in op.outputs])


def compiled(graphs: Mapping[str, Graph], folder: Path) -> Callable[..., list[Array]]:
    """The graphs as functions of one module: from a name and inputs to results."""
    text, module = folder / "op.mlir", folder / "op.vmfb"
    texts = [function_text(g, g.inputs, g.outputs, name) for name, g in graphs.items()]
    text.write_text("\n".join(texts))
    host = load_target("host")
    outcome = compile_file(text, module, host.flags, 240.0)
    assert outcome.ok, outcome.reason

    def call(name: str, values: Mapping[int, Array]) -> list[Array]:
        with Caller(RunSetting(host.device)) as caller:
            (results,) = caller.run([ModelCall(module, name, list(values.values()))])
        assert not results.reason
        return list(results.arrays)

    return call


def difference(found: Array, wanted: Array) -> Array:
    """How far numbers lie apart; the same infinities do not."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    return np.where(found == wanted, 0.0, apart)


def test_a_model_is_planned_around_a_softmax(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(ATTENTION)
    options = layoutopt.Options(cache=tmp_path / "cache", effort=layoutopt.Effort.QUICK)
    plan = layoutopt.optimize(tmp_path / "model.mlir", options=options)
    report = plan.report
    assert report.barriers == ()
    assert any(choice.op.startswith("softmax") for choice in report.choices)
    assert report.verification is not None
    assert report.verification.passed
    plan.apply(tmp_path / "out.mlir")
    (graph,) = parse_module(tmp_path / "out.mlir").graphs
    assert any(name.startswith("softmax") for name in graph.names)
