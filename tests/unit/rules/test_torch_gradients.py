"""The graphs that torch-mlir makes of ``aten.convolution_backward``: lifted, rewritten, equal."""

from __future__ import annotations

import iree.compiler.ir as ir
import numpy as np
import pytest

from layoutopt.ir.graph import Graph, Opaque
from layoutopt.ir.types import Array
from layoutopt.mlir.read.lift import lift
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from tests.parsing import CONTEXT
from tests.torch_dialect import CASES, ConvolutionBackward, linalg_of
from tests.unit.rules.ways import assert_all_ways_agree, rules_that_fired

SCATTERS = {"commute-scatter-with-contraction", "split-convolution-into-phases"}


@pytest.fixture(scope="module")
def graphs() -> dict[str, Graph]:
    """By function; imports and exports of buffers are left out."""
    with CONTEXT:
        module = ir.Module.parse(linalg_of(CASES))
        found = [lift(f, {}) for f in module.body.operations]
    return {f.name: _planned(f.graph) for f in found if f is not None}


def _planned(graph: Graph) -> Graph:
    simple = canonical_form(graph).graph
    ops = tuple(op for op in simple.ops if not isinstance(op, Opaque))
    made = {t for op in ops for t in op.outputs}
    read = {t for op in ops for t in op.inputs}
    inputs = tuple(t for t in simple.inputs if t in read)
    return Graph(simple.types, ops, inputs, tuple(t for t in simple.outputs if t in made))


def convolution(case: ConvolutionBackward, x: Array, w: Array) -> Array:
    """The forward pass, ``[n, g*c, ..]`` and ``[g*k, c, ..]`` to ``[n, g*k, ..]``."""
    rank, g = len(case.image), case.groups
    x = np.pad(x, [(0, 0)] * 2 + [(case.padding,) * 2] * rank)
    reach = (case.dilation * (case.taps - 1) + 1,) * rank
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, 2 + rank)))
    strided = (slice(None, None, case.stride),) * rank
    dilated = (slice(None, None, case.dilation),) * rank
    windows = windows[(slice(None), slice(None), *strided, *dilated)]
    by_group = windows.reshape(x.shape[0], g, x.shape[1] // g, *windows.shape[2:])
    filters = w.reshape(g, w.shape[0] // g, *w.shape[1:])
    image, taps = "abd"[:rank], "xyz"[:rank]
    y = np.einsum(f"ngc{image}{taps},gkc{taps}->ngk{image}", by_group, filters)
    found: Array = y.reshape(x.shape[0], w.shape[0], *case.small)
    return found


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("of", ["x", "w"])
def test_a_gradient(graphs: dict[str, Graph], number: int, of: str) -> None:
    case = CASES[number]
    graph = graphs[f"{of}{number}$async"]
    rng = np.random.default_rng(number)
    dy, x, w = (rng.integers(-2, 3, shape).astype(np.float32) for shape in case.shapes)
    given = {array.shape: array for array in (dy, x, w)}
    values = {t: given[graph.types[t].shape] for t in graph.inputs}
    (gradient,) = (evaluate(graph, values)[t] for t in graph.outputs)
    # The gradient is the adjoint: <gradient, v> = <dy, convolution(v)>.
    if of == "x":
        assert np.sum(gradient * x) == np.sum(dy * convolution(case, x, w))
    else:
        assert np.sum(gradient * w) == np.sum(dy * convolution(case, x, w))

    fired = rules_that_fired(assert_all_ways_agree(graph))

    assert bool(fired & SCATTERS) == (of == "x" and case.stride > 1)
