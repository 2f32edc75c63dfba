"""One elementwise op makes what the elementwise ops and reshapes of a dispatch make one by one."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutopt.candidates.one_op import MOST_OPS, in_one_op
from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.size import Symbol, one_symbol
from layoutopt.oracle import evaluate
from tests.property.layouts import shapes, small_integers
from tests.property.test_one_pass import SUM, TURNED, E, moved, pointwise


@st.composite
def chains(draw: st.DrawFn) -> Graph:
    """Elementwise ops on two tensors, with reshapes and other moves between them."""
    builder = GraphBuilder()
    known = [builder.tensor(draw(shapes(3, empty=False)), E) for _ in range(2)]
    inputs = tuple(known)
    for _ in range(draw(st.integers(1, 6))):
        last = draw(st.sampled_from(known[-2:]))
        same = [t for t in known if builder.types[t].shape == builder.types[last].shape]
        if draw(st.integers(0, 2)) == 0:
            known.append(pointwise(builder, SUM, (last, draw(st.sampled_from(same)))))
        else:
            known.append(draw(moved(builder, last)))
    assume(max(math.prod(t.shape) for t in builder.types) < 20_000)
    outputs = {known[-1], draw(st.sampled_from(known[2:]))}
    return builder.build(inputs, tuple(sorted(outputs)))


@given(chains())
@settings(max_examples=300, deadline=None)
def test_every_point_is_what_the_ops_make_one_by_one(graph: Graph) -> None:
    found = in_one_op(graph)
    if isinstance(found, Refusal):
        return
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    wanted, made = evaluate(graph, values), evaluate(found, values)
    for tensor in graph.outputs:
        np.testing.assert_array_equal(made[tensor], wanted[tensor])
    ops = [op for op in found.ops if not isinstance(op, Reshape)]
    assert len(ops) == 1
    assert isinstance(ops[0], Structured)


def shuffled(groups: int, channels: int, pixels: int) -> Graph:
    """``y[b, a, i] = -x[a * channels + b, i] + m[a * channels + b]``: a shuffle of channels."""
    builder = GraphBuilder()
    total = groups * channels
    x, m = builder.tensor((1, total, pixels), E), builder.tensor((total,), E)
    shifted = builder.tensor((1, total, pixels), E)
    maps = (identity_map(3), plain_map((1,)), identity_map(3))
    loops = (IteratorType.PARALLEL,) * 3
    turned = pointwise(builder, TURNED, (x,))
    none = (Uninitialized(),)
    builder.add(Structured((turned, m), none, (shifted,), (1, total, pixels), loops, maps, SUM))
    apart = builder.tensor((groups, channels, pixels), E)
    builder.add(Reshape(shifted, apart))
    y = builder.tensor((channels, groups, pixels), E)
    order, copied = (plain_map((1, 0, 2)), identity_map(3)), Body((E, E), (), (0,))
    builder.add(Structured((apart,), none, (y,), (channels, groups, pixels), loops, order, copied))
    last = builder.tensor((1, total, pixels), E)
    builder.add(Reshape(y, last))
    return builder.build((x, m), (y, last))


def test_dims_that_are_read_in_parts_are_parted() -> None:
    graph = shuffled(4, 6, 35)
    found = in_one_op(graph)
    assert isinstance(found, Graph)
    (op,) = (op for op in found.ops if isinstance(op, Structured))
    assert op.domain == (6, 4, 35)
    assert op.maps == (plain_map((1, 0, 2)), plain_map((1, 0)), identity_map(3))
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    wanted, made = evaluate(graph, values), evaluate(found, values)
    for tensor in graph.outputs:
        np.testing.assert_array_equal(made[tensor], wanted[tensor])


def test_what_is_no_single_op_says_why() -> None:
    builder = GraphBuilder()
    x = builder.tensor((4, 6), E)
    first, second = (pointwise(builder, TURNED, (x,)) for _ in range(2))
    two = in_one_op(builder.build((x,), (first, second)))
    assert two == Refusal("expected one result, but got 2")
    rows = one_symbol(Symbol("rows", 0, 100))
    builder = GraphBuilder()
    x = builder.tensor((rows, 6), E)
    an_open = in_one_op(builder.build((x,), (pointwise(builder, TURNED, (x,)),)))
    assert an_open == Refusal("expected ops on tensors of known sizes, but got others")
    builder = GraphBuilder()
    x, diagonal = builder.tensor((4, 4), E), builder.tensor((4,), E)
    loops, none = (IteratorType.PARALLEL,), (Uninitialized(),)
    maps = plain_map((0, 0)), identity_map(1)
    builder.add(Structured((x,), none, (diagonal,), (4,), loops, maps, TURNED))
    turned = in_one_op(builder.build((x,), (diagonal,)))
    assert turned == Refusal(
        "expected operands that are read along loops, but one is read elsewhere"
    )
    builder = GraphBuilder()
    x = builder.tensor((8,), E)
    turns = (ScalarOp("arith.negf", (n and n + 1,), E) for n in range(MOST_OPS + 1))
    many = pointwise(builder, Body((E, E), tuple(turns), (MOST_OPS + 2,)), (x,))
    stored = in_one_op(builder.build((x,), (many,)))
    assert isinstance(stored, Refusal)
    assert stored.reason.startswith(f"expected at most {MOST_OPS} ops for a point, but got")
