"""Random ops that go on from constants and broadcasts, as importers write a bias."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Constant,
    FromTensor,
    Graph,
    GraphBuilder,
    IteratorType,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, copy_body
from layoutopt.ir.types import TensorType
from tests.property.rules.ops import (
    argmaxes,
    convolutions,
    elementwise,
    matmuls,
    poolings,
    reductions,
)


@st.composite
def ops_with_constant_inits(draw: st.DrawFn) -> Graph:
    """An op whose init is a constant, a splat, or a broadcast of a constant or an input."""
    graph = draw(st.one_of(matmuls(), convolutions(), poolings(), reductions(), elementwise()))
    builder = GraphBuilder(len(graph.types))
    inputs = list(graph.inputs)
    ops = list(graph.ops)
    op = ops.pop()
    assert isinstance(op, Structured)
    inits = [
        FromTensor(_start(draw, builder, inputs, graph.types[t].shape, graph.types[t].element))
        for t in op.results
    ]
    builder.add(replace(op, inits=tuple(inits)))
    outputs = tuple(_scaled(draw, builder, inputs, t, graph.types[t]) for t in graph.outputs)
    whole = builder.build((), ())
    return Graph((*graph.types, *whole.types), (*ops, *whole.ops), tuple(inputs), outputs)


@st.composite
def half_read(draw: st.DrawFn) -> Graph:
    """A reduction with two results, of which the caller reads one."""
    graph = draw(argmaxes())
    kept = draw(st.sampled_from(graph.outputs))
    return replace(graph, outputs=(kept,))


def _scaled(
    draw: st.DrawFn, builder: GraphBuilder, inputs: list[int], tensor: int, kind: TensorType
) -> int:
    """The tensor, or its product with a possible init."""
    shape, element = kind.shape, kind.element
    if not element.startswith("f") or draw(st.booleans()):
        return tensor
    other = _start(draw, builder, inputs, shape, element)
    product = builder.tensor(shape, element)
    rank = len(shape)
    builder.add(
        Structured(
            (tensor, other),
            (Uninitialized(),),
            (product,),
            shape,
            (IteratorType.PARALLEL,) * rank,
            (identity_map(rank),) * 3,
            Body((element,) * 3, (ScalarOp("arith.mulf", (0, 1), element),), (3,)),
        )
    )
    return product


def _start(
    draw: st.DrawFn, builder: GraphBuilder, inputs: list[int], shape: tuple[int, ...], element: str
) -> int:
    kind = draw(st.sampled_from(["constant", "splat", "broadcast", "broadcast of an input"]))
    if kind in ("constant", "splat") or not shape:
        start = builder.tensor(shape, element)
        text = "2.0" if element.startswith(("f", "bf")) else "2"
        builder.add(Constant(start, f"{text} : {element}" if kind == "splat" else None))
        return start
    axis = draw(st.integers(0, len(shape) - 1))
    source = builder.tensor((shape[axis],), element)
    if kind == "broadcast":
        builder.add(Constant(source, None))
    else:
        inputs.append(source)
    start = builder.tensor(shape, element)
    rank = len(shape)
    builder.add(
        Structured(
            (source,),
            (Uninitialized(),),
            (start,),
            shape,
            (IteratorType.PARALLEL,) * rank,
            (plain_map((axis,)), identity_map(rank)),
            copy_body(element),
        )
    )
    return start
