"""Scatters by index arithmetic, and flips, as IREE runs them."""

from __future__ import annotations

import numpy as np
import pytest
from iree import compiler, runtime

from layoutopt.ir.graph import Graph, GraphBuilder, Pad, Reshape, Scatter
from layoutopt.ir.types import Array
from layoutopt.mlir.write.emit import function_text
from layoutopt.oracle import evaluate
from layoutopt.rules.rewrites.fold_slice_of_scatter import FoldSliceOfScatter
from layoutopt.rules.rule import Expression, apply
from tests.parsing import lifted
from tests.property.layouts import small_integers
from tests.torch_graphs import input_gradient


def run(graph: Graph, values: dict[int, Array]) -> Array:
    text = function_text(graph, graph.inputs, graph.outputs, "f")
    module = compiler.tools.compile_str(text, target_backends=["llvm-cpu"])
    loaded = runtime.load_vm_flatbuffer(module, driver="local-sync")
    return np.asarray(loaded["f"](*(values[t] for t in graph.inputs)))


def assert_runs_as_it_means(graph: Graph) -> None:
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    wanted = evaluate(graph, values)[graph.outputs[0]]
    assert np.array_equal(run(graph, values), wanted)


@pytest.mark.parametrize(
    ("strides", "offset", "behind"), [((2, 3), 0, 0), ((2, 4), 1, 2), ((3, 1), 2, 1)]
)
@pytest.mark.parametrize("computed", [False, True])
def test_a_scatter(strides: tuple[int, int], offset: int, behind: int, computed: bool) -> None:
    builder = GraphBuilder()
    shape = [offset + (n - 1) * s + 1 + behind for n, s in zip((3, 4), strides, strict=True)]
    x, y = builder.tensor((3, 4), "f32"), builder.tensor(shape, "f32")
    builder.add(Scatter((x,), y, ((offset, offset),), strides, "5.0 : f32", computed))
    assert_runs_as_it_means(builder.build((x,), (y,)))


@pytest.mark.parametrize("computed", [False, True])
def test_an_interleave(computed: bool) -> None:
    builder = GraphBuilder()
    pieces = [builder.tensor((2, n), "f32") for n in (3, 2)]
    y = builder.tensor((2, 5), "f32")
    builder.add(Scatter(tuple(pieces), y, ((0, 0), (0, 1)), (1, 2), None, computed))
    assert_runs_as_it_means(builder.build(pieces, (y,)))


@pytest.mark.parametrize("reshaped", [False, True])
@pytest.mark.parametrize("order", ["pad first", "insert first", "insert twice"])
def test_strided_inserts_beside_what_else_places_tensors(order: str, reshaped: bool) -> None:
    """IREE 3.13 folds them as if the strides were one, where nothing stands between."""
    builder = GraphBuilder()
    x = builder.tensor((2,), "f32")
    between = 3 if order != "pad first" else 2 + 2
    first, final = builder.tensor((between,), "f32"), builder.tensor((9,), "f32")
    if order == "pad first":
        builder.add(Pad(x, first, (1,), (1,), "0.0 : f32"))
    else:
        builder.add(Scatter((x,), first, ((0,),), (2,), "0.0 : f32"))
    read = first
    if reshaped:
        read = builder.tensor((1, between), "f32")
        builder.add(Reshape(first, read))
        again = builder.tensor((between,), "f32")
        builder.add(Reshape(read, again))
        read = again
    if order == "insert first":
        builder.add(Pad(read, final, (2,), (4,), "0.0 : f32"))
    else:
        strides = (2,) if order == "pad first" else (1,)
        builder.add(Scatter((read,), final, ((2,),), strides, "0.0 : f32"))
    assert_runs_as_it_means(builder.build((x,), (final,)))


def test_an_input_gradient_with_its_flip() -> None:
    assert_runs_as_it_means(lifted(input_gradient([3, 4], 3, 2, 1)))


@pytest.mark.parametrize("number", [1, 2], ids=["background", "several phases"])
def test_a_slice_of_a_scatter(number: int) -> None:
    example = FoldSliceOfScatter.examples[number]
    graph = example.graph
    found = apply(FoldSliceOfScatter(), graph, example.op)
    assert isinstance(found, Expression)
    folded = Graph((*graph.types, *found.types), found.ops, graph.inputs, graph.outputs)
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    wanted = evaluate(graph, values)[graph.outputs[0]]
    assert np.array_equal(run(folded, values), wanted)
