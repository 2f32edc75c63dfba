"""One op that works out where things lie makes what the ops that move them one by one make."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutopt.candidates.one_pass import MOST_OPS, in_one_pass, puts_together
from layoutopt.ir.affine import affine, identity_map, plain_map
from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import (
    Concat,
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, copy_body
from layoutopt.ir.size import Symbol, one_symbol
from layoutopt.oracle import evaluate
from tests.property.layouts import divisors, shapes, small_integers

E = "f32"
TURNED = Body((E, E), (ScalarOp("arith.negf", (0,), E),), (2,))
SUM = Body((E, E, E), (ScalarOp("arith.addf", (0, 1), E),), (3,))
SHIFTED = Body((E, E), (ScalarOp("arith.subf", (0, 1), E),), (2,))
"""Less what the init holds."""
BY_PLACE = Body(
    (E, E),
    (
        ScalarOp("linalg.index", (), "index", (("dim", "0"),)),
        ScalarOp("arith.index_cast", (2,), "i64"),
        ScalarOp("arith.sitofp", (3,), E),
        ScalarOp("arith.addf", (0, 4), E),
    ),
    (5,),
)


def pointwise(
    builder: GraphBuilder, body: Body, sources: tuple[int, ...], init: Fill | None = None
) -> int:
    shape = builder.types[sources[0]].shape
    result = builder.tensor(shape, E)
    same = identity_map(len(shape))
    builder.add(
        Structured(
            sources, (init or Uninitialized(),), (result,), shape,
            (IteratorType.PARALLEL,) * len(shape), (same,) * (len(sources) + 1), body,
        )
    )  # fmt: skip
    return result


@st.composite
def moved(draw: st.DrawFn, builder: GraphBuilder, tensor: int) -> int:
    shape = builder.types[tensor].shape
    rank = len(shape)
    choice = draw(st.sampled_from(["order", "reshape", "slice", "negate", "index", "init"]))
    if choice == "slice":
        offsets = tuple(draw(st.integers(0, n - 1)) for n in shape)
        strides = tuple(draw(st.integers(1, 2)) for _ in shape)
        left = zip(shape, offsets, strides, strict=True)
        result = builder.tensor(tuple(-(-(n - o) // s) for n, o, s in left), E)
        builder.add(Slice(tensor, result, offsets, strides))
        return result
    if choice == "reshape":
        total = math.prod(shape)
        tile = draw(st.sampled_from(divisors(total)))
        result = builder.tensor((total // tile, tile), E)
        builder.add(Reshape(tensor, result))
        return result
    if choice == "order":  # any order, some dims from behind, perhaps repeated along one more
        order = draw(st.permutations(range(rank)))
        more = draw(st.integers(0, 2))
        sizes = (*(shape[d] for d in order), *(2 * more - 1,) * (more > 0))
        read = [affine([(order.index(d), 1)]) for d in range(rank)]
        if rank and draw(st.integers(0, 1)):
            read[0] = affine([(order.index(0), -1)], shape[0] - 1)
        result = builder.tensor(sizes, E)
        loops = (IteratorType.PARALLEL,) * len(sizes)
        maps = tuple(read), plain_map(range(len(sizes)))
        builder.add(
            Structured(
                (tensor,), (Uninitialized(),), (result,), sizes, loops, maps, copy_body(E)
            )
        )  # fmt: skip
        return result
    if choice == "init":
        return pointwise(builder, SHIFTED, (tensor,), Fill("2.0 : f32"))
    body = BY_PLACE if choice == "index" and rank else TURNED
    return pointwise(builder, body, (tensor,))


@st.composite
def surrounded(draw: st.DrawFn, builder: GraphBuilder, tensor: int) -> int:
    """A tensor with something else around it, and perhaps between its elements."""
    shape = builder.types[tensor].shape
    low, high = (tuple(draw(st.integers(0, 2)) for _ in shape) for _ in range(2))
    step = tuple(draw(st.integers(1, 3)) for _ in shape)
    if draw(st.integers(0, 1)):
        sizes = tuple(a + n + b for a, n, b in zip(low, shape, high, strict=True))
        result = builder.tensor(sizes, E)
        builder.add(Pad(tensor, result, low, high, "3.0 : f32"))
        return result
    places = zip(low, shape, step, high, strict=True)
    result = builder.tensor(tuple(a + (n - 1) * s + 1 + b for a, n, s, b in places), E)
    computed = bool(draw(st.integers(0, 1)))
    builder.add(Scatter((tensor,), result, (low,), step, "4.0 : f32", computed))
    return result


@st.composite
def put_together(draw: st.DrawFn) -> Graph:
    """Parts of two tensors in one, and some ops around them."""
    builder = GraphBuilder()
    known = [builder.tensor(draw(shapes(3, empty=False)), E) for _ in range(2)]
    inputs = tuple(known)
    for _ in range(draw(st.integers(1, 7))):
        last = draw(st.sampled_from(known[-3:]))
        shape = builder.types[last].shape
        same = [t for t in known if builder.types[t].shape == shape]
        step = draw(st.sampled_from(["parts", "parts", "around", "sum", "move"]))
        if shape and step == "parts":
            axis = draw(st.integers(0, len(shape) - 1))
            parts = tuple(draw(st.sampled_from(same)) for _ in range(draw(st.integers(1, 3))))
            sizes = (len(parts) * n if d == axis else n for d, n in enumerate(shape))
            result = builder.tensor(tuple(sizes), E)
            builder.add(Concat(parts, result, axis))
        elif step == "around":
            result = draw(surrounded(builder, last))
        elif step == "sum":
            result = pointwise(builder, SUM, (last, draw(st.sampled_from(same))))
        else:
            result = draw(moved(builder, last))
        known.append(result)
    assume(max(math.prod(t.shape) for t in builder.types) < 20_000)
    outputs = {known[-1], draw(st.sampled_from(known[2:]))}
    return builder.build(inputs, tuple(sorted(outputs)))


@given(put_together())
@settings(max_examples=300, deadline=None)
def test_every_point_is_what_the_ops_make_one_by_one(graph: Graph) -> None:
    found = in_one_pass(graph)
    if isinstance(found, Refusal):
        assert not any(map(puts_together, graph.ops)) or "for a point" in found.reason
        return
    values = {t: small_integers(graph.types[t], t) for t in graph.inputs}
    wanted, made = evaluate(graph, values), evaluate(found, values)
    for tensor in graph.outputs:
        np.testing.assert_array_equal(made[tensor], wanted[tensor])
    assert all(isinstance(op, ComputedReads | Reshape) for op in found.ops)


def halves(size: int) -> Graph:
    """``concat(-x[:, h:], x[:, :h])`` for rows of 8, with ``size`` rows."""
    builder = GraphBuilder()
    x, y = builder.tensor((size, 8), E), builder.tensor((size, 8), E)
    low, high = builder.tensor((size, 4), E), builder.tensor((size, 4), E)
    builder.add(Slice(x, low, (0, 0), (1, 1)))
    builder.add(Slice(x, high, (0, 4), (1, 1)))
    builder.add(Concat((pointwise(builder, TURNED, (high,)), low), y, 1))
    return builder.build((x,), (y,))


def test_open_sizes_stay_open() -> None:
    rows = one_symbol(Symbol("rows", 0, 100))
    found = in_one_pass(halves(rows))
    assert isinstance(found, Graph)
    (op,) = found.ops
    assert isinstance(op, ComputedReads)
    assert found.types[op.results[0]].shape == (rows, 8)


def test_a_part_that_may_be_empty_is_not_read() -> None:
    builder = GraphBuilder()
    past = one_symbol(Symbol("past", 0, 100))
    cache, new = builder.tensor((past, 4), E), builder.tensor((1, 4), E)
    whole = builder.tensor((past + 1, 4), E)
    builder.add(Concat((cache, new), whole, 0))
    found = in_one_pass(builder.build((cache, new), (whole,)))
    assert found == Refusal("expected parts of which none may be empty, but got one of size past")


def test_points_of_too_many_ops_are_stored() -> None:
    builder = GraphBuilder()
    first, y = builder.tensor((2,), E), builder.tensor((4,), E)
    turns = (ScalarOp("arith.negf", (n and n + 1,), E) for n in range(MOST_OPS))
    last = pointwise(builder, Body((E, E), tuple(turns), (MOST_OPS + 1,)), (first,))
    builder.add(Concat((last, first), y, 0))
    found = in_one_pass(builder.build((first,), (y,)))
    assert isinstance(found, Refusal)
    assert found.reason.startswith(f"expected at most {MOST_OPS} ops for a point, but got")


def test_reductions_are_no_points() -> None:
    builder = GraphBuilder()
    x, total, y = builder.tensor((2, 3), E), builder.tensor((2,), E), builder.tensor((4,), E)
    kinds = (IteratorType.PARALLEL, IteratorType.REDUCTION)
    added = Body((E, E), (ScalarOp("arith.addf", (0, 1), E),), (2,))
    zero = Fill("0.0 : f32")
    maps = identity_map(2), plain_map((0,))
    builder.add(Structured((x,), (zero,), (total,), (2, 3), kinds, maps, added))
    builder.add(Concat((total, total), y, 0))
    found = in_one_pass(builder.build((x,), (y,)))
    assert found == Refusal("expected ops that compute point by point, but got reduction")
