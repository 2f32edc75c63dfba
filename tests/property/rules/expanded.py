"""Random contractions whose result gets more dims before something computes with it."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Reshape, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.types import is_float
from tests.property.rules.ops import convolutions, matmuls


@st.composite
def expanded(draw: st.DrawFn) -> Graph:
    """A matmul or convolution, its result with some dims split in two, and that added to itself."""
    graph = draw(st.one_of(matmuls(), convolutions()))
    (op,) = graph.ops
    (made,) = op.outputs
    kind = graph.types[made]
    shape: list[int] = []
    for n in kind.shape:
        part = draw(st.sampled_from([k for k in range(1, n + 1) if n % k == 0]))
        shape += [part, n // part] if draw(st.booleans()) else [n]
    if not kind.shape:
        shape = [1] * draw(st.integers(1, 2))
    assume(len(shape) > len(kind.shape))
    builder = GraphBuilder()
    for t in graph.types:
        builder.tensor(t.shape, t.element)
    builder.add(op)
    last = made
    for _ in range(draw(st.integers(0, 2))):  # between the two, point by point
        last = _doubled(builder, last)
    wide = builder.tensor(shape, kind.element)
    builder.add(Reshape(last, wide))
    return builder.build(graph.inputs, (_doubled(builder, wide),))


def _doubled(builder: GraphBuilder, tensor: int) -> int:
    """A tensor added to itself."""
    kind = builder.types[tensor]
    made = builder.tensor(kind.shape, kind.element)
    add = ScalarOp("arith.addf" if is_float(kind.element) else "arith.addi", (0, 0), kind.element)
    same = identity_map(len(kind.shape))
    builder.add(
        Structured(
            (tensor,), (Uninitialized(),), (made,), kind.shape,
            (IteratorType.PARALLEL,) * len(kind.shape), (same, same),
            Body((kind.element,) * 2, (add,), (2,)),
        )
    )  # fmt: skip
    return made
