"""Random contractions of which an operand holds each element of a smaller tensor several times."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import assume
from hypothesis import strategies as st

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, copy_body
from layoutopt.ir.types import is_float
from tests.property.rules.ops import FACTORS, convolutions, matmuls

_P = IteratorType.PARALLEL


@st.composite
def repeating(draw: st.DrawFn) -> Graph:
    """A matmul or convolution, of an operand that is broadcast and then reshaped.

    Between the repetition and the contraction there may be a transpose, a reshape and an
    elementwise op. Repetitions of one element come after each other, or all elements do.
    """
    few = draw(st.booleans())
    graph = draw(_few_rows() if few else st.one_of(matmuls(), convolutions()))
    (op,) = graph.ops
    assert isinstance(op, Structured)
    tensor = op.sources[1] if few else draw(st.sampled_from(sorted({*op.sources})))
    kind = graph.types[tensor]
    splits = [
        (axis, n // part, part)
        for axis, n in enumerate(kind.shape)
        for part in range(2, n + 1)
        if n % part == 0
    ]
    assume(splits)
    axis, own, times = draw(st.sampled_from(splits))
    builder = GraphBuilder()
    for t in graph.types:
        builder.tensor(t.shape, t.element)
    order = draw(st.permutations(range(len(kind.shape))))
    shape = [kind.shape[d] for d in order]
    place = order.index(axis)
    small = [*shape[:place], own, *shape[place + 1 :]]
    first = draw(st.booleans())
    parts = (times, own) if first else (own, times)
    wide = [*shape[:place], *parts, *shape[place + 1 :]]
    repeats = place if first else place + 1
    source = builder.tensor(small, kind.element)
    spread = builder.tensor(wide, kind.element)
    read = plain_map(d for d in range(len(wide)) if d != repeats)
    builder.add(
        Structured(
            (source,), (Uninitialized(),), (spread,), tuple(wide), (_P,) * len(wide),
            (read, identity_map(len(wide))), copy_body(kind.element),
        )
    )  # fmt: skip
    last = builder.tensor(shape, kind.element)
    builder.add(Reshape(spread, last))
    if draw(st.booleans()):
        last = _with_unit_dims(builder, last, draw(st.integers(0, len(shape))))
    last = _turned(builder, last, order, tensor, draw(st.booleans()))
    builder.add(replace(op, sources=tuple(last if t == tensor else t for t in op.sources)))
    inputs = [t for t in graph.inputs if t != tensor or t in op.inputs[len(op.sources) :]]
    return builder.build((*inputs, source), op.results)


@st.composite
def _few_rows(draw: st.DrawFn) -> Graph:
    """A batch matmul of one or two rows, in any order of dims."""
    builder = GraphBuilder()
    loops = {
        "b": draw(st.sampled_from([2, 4, 6])),
        "m": draw(st.sampled_from([1, 2])),
        "n": draw(st.sampled_from([4, 6])),
        "k": draw(st.sampled_from([4, 6])),
    }
    names = list(loops)
    factor, summed = draw(st.sampled_from(FACTORS))
    orders = [draw(st.permutations(dims)) for dims in ("bmk", "bkn", "bmn")]
    tensors = [
        builder.tensor([loops[x] for x in order], kind)
        for order, kind in zip(orders, (factor, factor, summed), strict=True)
    ]
    zero = f"0{'.0' * is_float(summed)} : {summed}"
    builder.add(
        Structured(
            tuple(tensors[:2]), (Fill(zero),), (tensors[2],), tuple(loops.values()),
            (_P, _P, _P, IteratorType.REDUCTION),
            tuple(plain_map(map(names.index, order)) for order in orders),
            contraction_body(factor, factor, summed),
        )
    )  # fmt: skip
    return builder.build(tensors[:2], tensors[2:])


def _with_unit_dims(builder: GraphBuilder, tensor: int, place: int) -> int:
    """The tensor by way of one with a dim of size 1 more, where it is added to itself."""
    kind = builder.types[tensor]
    longer = builder.tensor((*kind.shape[:place], 1, *kind.shape[place:]), kind.element)
    doubled, back = (builder.tensor(s, kind.element) for s in (builder.types[-1].shape, kind.shape))
    builder.add(Reshape(tensor, longer))
    rank = len(kind.shape) + 1
    add = ScalarOp("arith.addf" if is_float(kind.element) else "arith.addi", (0, 0), kind.element)
    builder.add(
        Structured(
            (longer,), (Uninitialized(),), (doubled,), builder.types[doubled].shape, (_P,) * rank,
            (identity_map(rank),) * 2, Body((kind.element,) * 2, (add,), (2,)),
        )
    )  # fmt: skip
    builder.add(Reshape(doubled, back))
    return back


def _turned(builder: GraphBuilder, tensor: int, order: list[int], like: int, written: bool) -> int:
    """The tensor with its dims in the order of another one; ``written``: the loops are its own."""
    kind = builder.types[like]
    if list(order) == sorted(order):
        return tensor
    made = builder.tensor(kind.shape, kind.element)
    rank = len(order)
    back = tuple(order.index(d) for d in range(rank))
    maps = (
        (plain_map(order), identity_map(rank)) if written else (identity_map(rank), plain_map(back))
    )
    domain = kind.shape if written else builder.types[tensor].shape
    builder.add(
        Structured(
            (tensor,), (Uninitialized(),), (made,), domain, (_P,) * rank, maps,
            copy_body(kind.element),
        )
    )  # fmt: skip
    return made


def grouped(random: Random) -> Graph:
    """A batch matmul of one or two rows, of an operand that holds each batch several times."""
    builder = GraphBuilder()
    own, times = random.choice((1, 2, 3)), random.choice((2, 3))
    rows, columns, inner = random.choice((1, 2)), random.choice((4, 5)), random.choice((4, 6))
    first = random.random() < 0.5
    source = builder.tensor((own, inner, columns), "f32")
    parts = (times, own) if first else (own, times)
    wide = (*parts, inner, columns)
    spread, weights = builder.tensor(wide, "f32"), builder.tensor((own * times, *wide[2:]), "f32")
    read = plain_map((int(first), 2, 3))
    builder.add(
        Structured(
            (source,), (Uninitialized(),), (spread,), wide, (_P,) * 4, (read, identity_map(4)),
            copy_body("f32"),
        )
    )  # fmt: skip
    builder.add(Reshape(spread, weights))
    x = builder.tensor((own * times, rows, inner), "f32")
    y = builder.tensor((own * times, rows, columns), "f32")
    builder.add(
        Structured(
            (x, weights), (Fill("0.0 : f32"),), (y,), (own * times, rows, columns, inner),
            (_P, _P, _P, IteratorType.REDUCTION),
            (plain_map((0, 1, 3)), plain_map((0, 3, 2)), plain_map((0, 1, 2))),
            contraction_body("f32", "f32", "f32"),
        )
    )  # fmt: skip
    return builder.build((source, x), (y,))
