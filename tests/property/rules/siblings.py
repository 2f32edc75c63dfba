"""Random ops that read one tensor with weights of their own, and what comes behind them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp
from tests.property.rules.ops import convolutions, matmuls

_BODIES = (
    Body(("f32", "f32", "f32"), (ScalarOp("arith.addf", (0, 1), "f32"),), (3,)),
    Body(("f32", "f32", "f32"), (ScalarOp("arith.subf", (1, 0), "f32"),), (3,)),
)


@st.composite
def siblings(draw: st.DrawFn) -> Graph:
    """A matmul or convolution of f32 a few times over, with weights that are constants."""
    graph = draw(st.one_of(matmuls(), convolutions()))
    (op,) = graph.ops
    assert isinstance(op, Structured)
    assume(isinstance(op.inits[0], Fill) and {t.element for t in graph.types} == {"f32"})
    own = [
        d
        for d in range(len(op.domain))
        if any(form.plain_dim == d for form in op.maps[1])
        and any(form.plain_dim == d for form in op.maps[2])
        and not any(d in form.dims for form in op.maps[0])
    ]
    assume(own)
    loop = draw(st.sampled_from(own))
    builder = GraphBuilder()
    x = builder.tensor(graph.types[0].shape, "f32")
    results = []
    for _ in range(draw(st.integers(2, 3))):
        n = draw(st.integers(1, 4))
        domain = tuple(n if d == loop else m for d, m in enumerate(op.domain))
        weights, result = (
            tuple(
                n if form.plain_dim == loop else m
                for form, m in zip(op.maps[i], graph.types[i].shape, strict=True)
            )
            for i in (1, 2)
        )
        w = counted(builder, weights, draw(st.integers(1, 3)))
        results.append(builder.tensor(result, "f32"))
        builder.add(replace(op, sources=(x, w), results=(results[-1],), domain=domain))
    return builder.build((x,), results)


@st.composite
def behind_slices(draw: st.DrawFn) -> Graph:
    """Elementwise ops behind all slices of one tensor along one dim, or all but a gap."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    axis = draw(st.integers(0, len(shape) - 1))
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))
    body, gap = draw(st.sampled_from(_BODIES)), draw(st.sampled_from((0, 0, 0, 1)))
    builder = GraphBuilder()
    shape[axis] = sum(sizes) + gap
    x = builder.tensor(shape, "f32")
    offset, results = 0, []
    rank = len(shape)
    for n in sizes:
        kind = [n if d == axis else m for d, m in enumerate(shape)]
        part, result = builder.tensor(kind, "f32"), builder.tensor(kind, "f32")
        offsets = tuple(offset if d == axis else 0 for d in range(rank))
        builder.add(Slice(x, part, offsets, (1,) * rank))
        offset += n
        bias = counted(builder, tuple(kind), draw(st.integers(1, 3)))
        builder.add(
            Structured(
                (part, bias), (Uninitialized(),), (result,), tuple(kind),
                (IteratorType.PARALLEL,) * rank, (identity_map(rank),) * 3, body,
            )
        )  # fmt: skip
        results.append(result)
    return builder.build((x,), results)


def counted(builder: GraphBuilder, shape: tuple[int, ...], factor: int) -> int:
    """A constant whose elements are ``factor`` times their place along the last dim, plus one."""
    tensor, rank = builder.tensor(shape, "f32"), len(shape)
    ops = (
        ScalarOp("linalg.index", (), "index", (("dim", str(rank - 1)),)),
        ScalarOp("arith.index_cast", (1,), "i32"),
        ScalarOp("arith.sitofp", (2,), "f32"),
        *(ScalarOp("arith.addf", (2 + i, 3), "f32") for i in range(1, factor)),
    )
    builder.add(
        Structured(
            (), (Uninitialized(),), (tensor,), shape, (IteratorType.PARALLEL,) * rank,
            (identity_map(rank),), Body(("f32",), ops, (len(ops),)),
        )
    )  # fmt: skip
    return tensor
