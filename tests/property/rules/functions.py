"""Elementwise ops with functions that compilers approximate."""

from __future__ import annotations

from hypothesis import strategies as st

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp


@st.composite
def smooth_functions(draw: st.DrawFn) -> Graph:
    """``f(x y) x + f(y)``, of one or two tensors of one shape."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    element = draw(st.sampled_from(["f32", "f32", "f64", "f16", "bf16"]))
    name = draw(st.sampled_from(["math.erf", "math.erf", "math.tanh"]))
    builder = GraphBuilder()
    x, y = (builder.tensor(shape, element) for _ in range(2))
    result = builder.tensor(shape, element)
    sources = (x, y) if draw(st.booleans()) else (x, x)
    steps = (
        ("arith.mulf", (0, 1)),
        (name, (3,)),
        ("arith.mulf", (4, 0)),
        (name, (1,)),
        ("arith.addf", (5, 6)),
    )
    ops = tuple(ScalarOp(step, operands, element) for step, operands in steps)
    body = Body((element,) * 3, ops, (7,))
    maps = (identity_map(len(shape)),) * 3
    loops = (IteratorType.PARALLEL,) * len(shape)
    builder.add(Structured(sources, (Uninitialized(),), (result,), shape, loops, maps, body))
    return builder.build(tuple(dict.fromkeys(sources)), (result,))
