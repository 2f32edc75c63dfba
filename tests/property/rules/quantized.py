"""Random contractions of quantized tensors, as the dialects that import them write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from layoutopt.ir.affine import IndexMap, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from tests.property.rules.ops import convolutions, matmuls

P = IteratorType.PARALLEL


def constant(value: int | float, element: str) -> ScalarOp:
    return ScalarOp("arith.constant", (), element, (("value", f"{value} : {element}"),))


@st.composite
def zero_point_ops(draw: st.DrawFn) -> Graph:
    """``acc + (ext(a) - za) * (ext(b) - zb)`` in i32, as linalg's ``_q`` ops mean it.

    Each zero point is none, a constant, a scalar, or (of b) one number per output channel.
    """
    graph = draw(st.one_of(matmuls(), convolutions()))
    (op,) = graph.ops
    assert isinstance(op, Structured)
    builder = GraphBuilder()
    of = {t: builder.tensor(graph.types[t].shape, "i8") for t in op.sources}
    result = builder.tensor(graph.types[op.results[0]].shape, "i32")
    channels = [f for f in op.maps[1] if f in op.maps[2] and f not in op.maps[0]]
    sources, maps = [of[t] for t in op.sources], [*op.source_maps]
    elements = ["i8", "i8"]
    parts: list[tuple[str, object]] = []
    for side in range(2):
        kinds = ["none", "constant", "scalar", *(["channel"] if channels and side else [])]
        kind = draw(st.sampled_from(kinds))
        if kind in ("scalar", "channel"):
            index_map: IndexMap = tuple(channels[:1]) if kind == "channel" else ()
            element = draw(st.sampled_from(["i8", "i32"]))
            sources.append(builder.tensor([op.domain[f.dims[0]] for f in index_map], element))
            maps.append(index_map)
            elements.append(element)
            parts.append((element, len(sources) - 1))
        else:
            number = draw(st.sampled_from([-128, 5, 2**31 - 1])) if kind == "constant" else 0
            parts.append(("constant", number))
    casts = draw(st.lists(st.sampled_from(["arith.extsi", "arith.extui"]), min_size=2, max_size=2))
    body = _difference_body(elements, parts, casts)
    init = draw(st.sampled_from([Fill("0 : i32"), Fill("7 : i32")]))
    builder.add(
        replace(
            op,
            sources=tuple(sources),
            inits=(init,),
            results=(result,),
            maps=(*maps, op.maps[2]),
            body=body,
        )
    )
    return builder.build(sources, (result,))


def _difference_body(
    elements: Sequence[str], parts: Sequence[tuple[str, object]], casts: Sequence[str]
) -> Body:
    first = len(elements) + 1
    ops: list[ScalarOp] = []

    def add(op: ScalarOp) -> int:
        ops.append(op)
        return first + len(ops) - 1

    factors = []
    for side, (kind, what) in enumerate(parts):
        value = add(ScalarOp(casts[side], (side,), "i32"))
        if kind == "constant":
            assert isinstance(what, int)
            if what:
                zero = add(constant(what, "i32"))
                value = add(ScalarOp("arith.subi", (value, zero), "i32"))
        else:
            assert isinstance(what, int)
            zero = what if kind == "i32" else add(ScalarOp("arith.extsi", (what,), "i32"))
            value = add(ScalarOp("arith.subi", (value, zero), "i32"))
        factors.append(value)
    product = add(ScalarOp("arith.muli", tuple(factors), "i32"))
    total = add(ScalarOp("arith.addi", (len(elements), product), "i32"))
    return Body((*elements, "i32"), tuple(ops), (total,))


@st.composite
def dequantized_contractions(draw: st.DrawFn) -> Graph:
    """Both operands are integers, dequantized, perhaps padded with zeros, and contracted.

    In f32 with scales, or (``MatMulInteger``) in i32 and summed in i64. Small numbers and scales
    that are powers of two: all sums are exact.
    """
    floating = draw(st.booleans())
    wide = "f32" if floating else "i32"
    out = "f32" if floating else "i64"
    graph = draw(st.one_of(matmuls(), convolutions()))
    (op,) = graph.ops
    assert isinstance(op, Structured)
    builder = GraphBuilder()
    given: list[int] = []
    operands: list[int] = []
    channels = [
        axis for axis, f in enumerate(op.maps[1]) if f in op.maps[2] and f not in op.maps[0]
    ]
    for side, tensor in enumerate(op.sources):
        shape = graph.types[tensor].shape
        low = [draw(st.integers(0, 1)) if n > 1 and side == 0 else 0 for n in shape]
        inner = [n - pad for n, pad in zip(shape, low, strict=True)]
        axis = draw(st.sampled_from([None, *channels])) if side else None
        made = _dequantized(draw, builder, given, inner, wide, None if any(low) else axis, any(low))
        if any(low):
            padded = builder.tensor(shape, wide)
            zero = "0.0 : f32" if floating else "0 : i32"
            builder.add(Pad(made, padded, tuple(low), (0,) * len(low), zero))
            made = padded
        operands.append(made)
    result = builder.tensor(graph.types[op.results[0]].shape, out)
    builder.add(
        replace(
            op,
            sources=tuple(operands),
            inits=(Fill(f"{'0.0' if floating else '0'} : {out}"),),
            results=(result,),
            body=contraction_body(wide, wide, out),
        )
    )
    return builder.build(given, (result,))


def _dequantized(
    draw: st.DrawFn,
    builder: GraphBuilder,
    given: list[int],
    shape: Sequence[int],
    wide: str,
    axis: int | None,
    padded: bool,
) -> int:
    """A tensor of ``wide`` that is computed from new inputs; ``axis``: the zero point differs.

    ``padded``: the zero point is a constant, since a pad takes no other.
    """
    source = builder.tensor(shape, "i8")
    given.append(source)
    sources, maps, elements = [source], [identity_map(len(shape))], ["i8"]
    cast = draw(st.sampled_from(["arith.extsi", "arith.extui"]))
    difference = "i16" if wide == "f32" else "i32"
    constant_zero = padded or (axis is None and draw(st.booleans()))
    if not constant_zero:
        zero = builder.tensor(() if axis is None else (shape[axis],), "i8")
        given.append(zero)
        sources.append(zero)
        maps.append(() if axis is None else plain_map([axis]))
        elements.append("i8")
    first = len(elements) + 1
    ops = [ScalarOp(cast, (0,), difference)]
    if constant_zero:
        other = 200 if cast == "arith.extui" else -5
        ops.append(constant(draw(st.sampled_from([0, 3, other])), difference))
    else:
        ops.append(ScalarOp("arith.extsi", (1,), difference))
    ops.append(ScalarOp("arith.subi", (first, first + 1), difference))
    if wide == "f32":
        ops.append(ScalarOp("arith.sitofp", (first + 2,), "f32"))
        ops.append(constant(draw(st.sampled_from([1.0, 0.5, 4.0])), "f32"))
        ops.append(ScalarOp("arith.mulf", (first + 3, first + 4), "f32"))
    made = builder.tensor(shape, wide)
    builder.add(
        Structured(
            tuple(sources),
            (Uninitialized(),),
            (made,),
            tuple(shape),
            (P,) * len(shape),
            (*maps, identity_map(len(shape))),
            Body((*elements, wide), tuple(ops), (first + len(ops) - 1,)),
        )
    )
    return made


@st.composite
def quantizations(draw: st.DrawFn) -> Graph:
    """``clamp(roundeven(x / scale) + zero)`` as i8: scales of powers of two, many ties."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    axis = draw(st.sampled_from([None, *range(len(shape))]))
    builder = GraphBuilder()
    x, y = builder.tensor(shape, "f32"), builder.tensor(shape, "i8")
    zero = builder.tensor(() if axis is None else (shape[axis],), "i8")
    scale = draw(st.sampled_from([2.0, 4.0, 0.5]))
    ops = (
        constant(scale, "f32"),
        ScalarOp("arith.divf", (0, 3), "f32"),
        ScalarOp("math.roundeven", (4,), "f32"),
        ScalarOp("arith.sitofp", (1,), "f32"),
        ScalarOp("arith.addf", (5, 6), "f32"),
        constant(-128.0, "f32"),
        ScalarOp("arith.maxnumf", (7, 8), "f32"),
        constant(127.0, "f32"),
        ScalarOp("arith.minnumf", (9, 10), "f32"),
        ScalarOp("arith.fptosi", (11,), "i8"),
    )
    whole = identity_map(len(shape))
    builder.add(
        Structured(
            (x, zero),
            (Uninitialized(),),
            (y,),
            tuple(shape),
            (P,) * len(shape),
            (whole, () if axis is None else plain_map([axis]), whole),
            Body(("f32", "i8", "i8"), ops, (12,)),
        )
    )
    return builder.build((x, zero), (y,))


QUANTIZED: dict[str, Callable[[], st.SearchStrategy[Graph]]] = {"zero points": zero_point_ops}
"""Graphs of one op."""
