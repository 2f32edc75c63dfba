"""Random ops that read one tensor with weights of their own, and what comes behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st

from layoutopt.ir.affine import IndexMap, identity_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.ir.types import TensorType
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
    op = replace(op, inits=(Fill("0.0 : f32"),), body=contraction_body("f32", "f32", "f32"))
    types = [TensorType(kind.shape, "f32") for kind in graph.types]
    loops = loops_of_weights(op, types)
    assume(loops)
    loop, sizes = draw(st.sampled_from(loops)), draw(st.lists(st.integers(1, 4), min_size=2))
    builder = GraphBuilder()
    x = builder.tensor(graph.types[0].shape, "f32")
    alone = replace(op, sources=(x, op.sources[1]))
    results = add_siblings(builder, alone, types, loop, sizes[:3])
    return builder.build((x,), results)


def loops_of_weights(op: Structured, types: Sequence[TensorType]) -> list[int]:
    """The loops that run along the weights of a contraction of f32 and along its result alone."""
    kinds = {types[t].element for t in (*op.sources, *op.results)}
    if not op.is_contraction or not isinstance(op.inits[0], Fill) or kinds != {"f32"}:
        return []
    return [
        d
        for d in range(len(op.domain))
        if all(_runs_along(m, d) for m in op.maps[1:])
        and not any(d in form.dims for form in op.maps[0])
    ]


def _runs_along(forms: IndexMap, loop: int) -> bool:
    return [form.plain_dim for form in forms if loop in form.dims] == [loop]


def add_siblings(
    builder: GraphBuilder,
    op: Structured,
    types: Sequence[TensorType],
    loop: int,
    sizes: Sequence[int],
) -> list[int]:
    """Add an op again for each size of a loop, with weights that are constants; their results."""
    results = []
    for factor, n in enumerate(sizes, 1):
        weights, result = (
            tuple(
                n if form.plain_dim == loop else m
                for form, m in zip(forms, types[t].shape, strict=True)
            )
            for forms, t in zip(op.maps[1:], (op.sources[1], op.results[0]), strict=True)
        )
        w = counted(builder, weights, factor)
        results.append(builder.tensor(result, "f32"))
        domain = tuple(n if d == loop else m for d, m in enumerate(op.domain))
        sources = (op.sources[0], w)
        builder.add(replace(op, sources=sources, results=(results[-1],), domain=domain))
    return results


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
