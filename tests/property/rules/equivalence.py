"""What a rewritten graph is checked for by NumPy alone: well-formed ops, and the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random

import ml_dtypes
import numpy as np

from layoutopt.candidates.matmul_form import with_matmuls
from layoutopt.candidates.saturation import Limits, saturate
from layoutopt.ir.copy_folding import simplified
from layoutopt.ir.graph import (
    Constant,
    Graph,
    Insert,
    Op,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
)
from layoutopt.ir.types import Array, TensorType, numpy_dtype
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from layoutopt.oracle.constant import constant
from layoutopt.rules.rule import Expression
from tests.unit.rules.ways import assert_every_op_agrees

Values = Mapping[int, Array]


def leaves(graph: Graph, random: Random) -> dict[int, Array]:
    """Small integers for inputs and constants; splats hold their value."""
    generator = np.random.default_rng(random.randrange(1 << 30))
    found = {}
    for tensor in graph.inputs:
        kind = graph.types[tensor]
        found[tensor] = generator.integers(-3, 4, kind.shape).astype(numpy_dtype(kind.element))
    for op in graph.ops:
        if isinstance(op, Constant):
            kind = graph.types[op.result]
            dtype = numpy_dtype(kind.element)
            found[op.result] = generator.integers(-3, 4, kind.shape).astype(dtype)
            if op.splat is not None:
                value = constant(op.splat, kind.element)
                assert value is not None
                found[op.result] = np.full(kind.shape, value, dtype)
    return found


def assert_well_formed(types: Sequence[TensorType], op: Op) -> None:
    """What MLIR's verifiers would say of the op's shapes, and linalg of its maps."""
    shape = [types[t].shape for t in (*op.inputs, *op.outputs)]
    if isinstance(op, Structured):
        plain = set()
        for tensor, forms in zip((*op.sources, *op.results), op.maps, strict=True):
            sizes = types[tensor].shape
            assert len(forms) == len(sizes), (op, sizes)
            for form, n in zip(forms, sizes, strict=True):
                if form.plain_dim is not None:
                    plain.add(form.plain_dim)
                    assert op.domain[form.plain_dim] == n, (op, sizes)
                elif 0 not in op.domain:
                    spans = [c * (op.domain[d] - 1) for d, c in form.terms]
                    assert form.offset + sum(min(0, s) for s in spans) >= 0, (op, sizes)
                    assert form.offset + sum(max(0, s) for s in spans) < n, (op, sizes)
        assert plain == set(range(len(op.domain))), op
        for tensor, element in zip((*op.sources, *op.results), op.body.arguments, strict=True):
            assert types[tensor].element == element, op
    elif isinstance(op, Slice):
        for n, m, o, s in zip(shape[0], shape[1], op.offsets, op.strides, strict=True):
            assert_strided(n, m, o, s)
    elif isinstance(op, Insert | Scatter):
        sources = [op.source] if isinstance(op, Insert) else op.sources
        places = [op.offsets] if isinstance(op, Insert) else op.offsets
        for tensor, offsets in zip(sources, places, strict=True):
            places_along = zip(
                types[op.result].shape, types[tensor].shape, offsets, op.strides, strict=True
            )
            for n, m, o, s in places_along:
                assert_strided(n, m, o, s)
        if isinstance(op, Scatter) and op.background is None:
            count = sum(types[t].elements for t in op.sources)
            assert count == types[op.result].elements, (op, shape)
    elif isinstance(op, Pad):
        for n, m, a, b in zip(shape[0], shape[1], op.low, op.high, strict=True):
            assert min(a, b) >= 0, op
            assert a + n + b == m, (op, shape)
    elif isinstance(op, Reshape):
        assert math.prod(shape[0]) == math.prod(shape[1]), (op, shape)


def assert_strided(whole: int, size: int, offset: int, stride: int) -> None:
    assert stride > 0 <= offset
    assert not size or offset + (size - 1) * stride < whole


def assert_rewritten(graph: Graph, op: int, found: Expression, values: Values) -> None:
    """The expression's ops are well-formed and make the op's own tensors."""
    types = (*graph.types, *found.types)
    outputs = graph.ops[op].outputs
    for new in found.ops:
        assert_well_formed(types, new)
    assert found.ops[-1].outputs == outputs
    start = {t: v for t, v in values.items() if t not in outputs}
    there = evaluate(Graph(types, found.ops, graph.inputs, outputs), start)
    for tensor, kind in enumerate(types):
        if tensor in there:
            assert there[tensor].shape == kind.shape
    assert_same(outputs, there, values, found.rounds)


def assert_same(
    tensors: Sequence[int], found: Values, wanted: Values, rounds: bool = False
) -> None:
    for tensor in tensors:
        a, b = found[tensor], wanted[tensor]
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if rounds and a.size:
            scale = max(1.0, float(np.abs(b).max()))
            assert float(np.abs(a - b).max()) <= 200 * float(ml_dtypes.finfo(b.dtype).eps) * scale
        else:
            assert np.array_equal(a, b, equal_nan=b.dtype.kind == "f")


PASSES: dict[str, Callable[[Graph], Graph]] = {
    "simplify": simplified,
    "matmul-form": with_matmuls,
    "normalization": lambda graph: canonical_form(graph).graph,
}


def assert_passed(graph: Graph, made: Graph, values: Values, wanted: Values) -> None:
    for op in made.ops:
        assert_well_formed(made.types, op)
    assert made.inputs == graph.inputs
    assert made.outputs == graph.outputs
    assert_same(graph.outputs, evaluate(made, values), wanted)


def assert_ways(graph: Graph, values: Values) -> None:
    """Every op that saturation adds is well-formed and makes the numbers of its tensors."""
    egraph = saturate(graph, limits=Limits(ops=300))
    for op in egraph.graph.ops:
        assert_well_formed(egraph.graph.types, op)
    assert_every_op_agrees(egraph.graph, values)
