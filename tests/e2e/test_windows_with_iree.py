"""Winograd convolutions and unrolled windows, as IREE runs them."""

from __future__ import annotations

import numpy as np
import pytest
from iree import compiler, runtime

from layoutopt.candidates.saturation import saturate
from layoutopt.ir.affine import affine, dim, plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Structured
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.ir.size import symbol
from layoutopt.ir.types import Array
from layoutopt.mlir.write.emit import function_text
from layoutopt.oracle import evaluate
from layoutopt.rules.rewrites.examples import convolution_example
from tests.property.layouts import assert_close, small_integers

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


def max_pooling() -> Graph:
    """3 x 3 windows two apart, of images of nine by nine."""
    builder = GraphBuilder()
    x, window, y = (builder.tensor(s, "f32") for s in ((2, 9, 9, 8), (3, 3), (2, 4, 4, 8)))
    body = Body(("f32", "f32", "f32"), (ScalarOp("arith.maximumf", (2, 0), "f32"),), (3,))
    steps = (affine([(1, 2), (4, 1)]), affine([(2, 2), (5, 1)]))
    builder.add(
        Structured(
            (x, window),
            (Fill("0xFF800000 : f32"),),
            (y,),
            (2, 4, 4, 8, 3, 3),
            (_P, _P, _P, _P, _R, _R),
            ((dim(0), *steps, dim(3)), plain_map((4, 5)), plain_map((0, 1, 2, 3))),
            body,
        )
    )
    return builder.build((x, window), (y,))


def ways(graph: Graph, rule: str) -> list[Graph]:
    """The graph computed by each expression of a rule alone."""
    egraph = saturate(graph)
    grown = egraph.graph
    found = []
    for last in grown.producers[graph.outputs[0]]:
        if not any(name.startswith(rule) for name in egraph.rule[last]):
            continue
        ops, needed = [grown.ops[last]], {*grown.ops[last].inputs}
        for op in reversed(grown.ops[:last]):
            if needed & {*op.outputs} and not {*op.outputs} & {*graph.outputs}:
                ops.insert(0, op)
                needed.update(op.inputs)
        found.append(Graph(grown.types, tuple(ops), graph.inputs, graph.outputs))
    return found


def run(graph: Graph, values: dict[int, Array]) -> Array:
    text = function_text(graph, graph.inputs, graph.outputs, "f")
    module = compiler.tools.compile_str(text, target_backends=["llvm-cpu"])
    loaded = runtime.load_vm_flatbuffer(module, driver="local-sync")
    return np.asarray(loaded["f"](*(values[t] for t in graph.inputs)))


def assert_all_run_as_they_mean(graph: Graph, rule: str, count: int) -> None:
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    wanted = evaluate(graph, values)[graph.outputs[0]]
    found = ways(graph, rule)
    assert len(found) == count
    for way in found:
        assert_close(run(way, values), wanted)


def test_winograd_with_whole_and_with_cut_tiles() -> None:
    graph = convolution_example(filter_size=3, stride=1, channels=(4, 8), image=7)
    assert_all_run_as_they_mean(graph, "convolution-to-winograd", 2)


def test_unrolled_pooling() -> None:
    assert_all_run_as_they_mean(max_pooling(), "unroll-window", 1)


def in_one_place(channels: int) -> Graph:
    """One window of two, of images of three: ``y[f, n, 0] = x[n, c, 0 * 2 + k] * w[f, c, k]``."""
    builder = GraphBuilder()
    shapes = ((3, channels, 3), (5, channels, 2), (5, 3, 1))
    x, w, y = (builder.tensor(shape, "f32") for shape in shapes)
    builder.add(
        Structured(
            (x, w),
            (Fill("0.0 : f32"),),
            (y,),
            (5, 3, 1, channels, 2),
            (_P, _P, _P, _R, _R),
            (
                (dim(1), dim(3), affine([(2, 2), (4, 1)])),
                plain_map((0, 3, 4)),
                plain_map((0, 1, 2)),
            ),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, w), (y,))


@pytest.mark.parametrize("is_open", [False, True])
def test_a_window_in_one_place_reads_its_part(is_open: bool) -> None:
    """IREE folds the place away, and then takes the part for all of the image."""
    known = in_one_place(4)
    values = {t: small_integers(known.types[t], t) for t in known.inputs}
    written = in_one_place(symbol("c", 1)) if is_open else known
    text = function_text(written, written.inputs, written.outputs, "f")
    module = compiler.tools.compile_str(text, target_backends=["llvm-cpu"])
    loaded = runtime.load_vm_flatbuffer(module, driver="local-sync")
    sizes = [4] * is_open
    got = np.asarray(loaded["f"](*(values[t] for t in known.inputs), *sizes))
    assert_close(got, evaluate(known, values)[known.outputs[0]])
