"""Weights moved from file to file are what the oracle makes of them in memory."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from layoutopt.ir.affine import affine, plain_map
from layoutopt.ir.graph import (
    Concat,
    Constant,
    Graph,
    GraphBuilder,
    IteratorType,
    Pack,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, copy_body
from layoutopt.ir.types import Array, numpy_dtype
from layoutopt.oracle.evaluate import evaluate
from layoutopt.parameters import stream
from layoutopt.parameters.movement import Movement, not_a_movement, raw_type
from tests.property.layouts import divisors, layouts, shapes
from tests.property.test_stream import contents_of, file_of

ELEMENTS = ("f32", "bf16", "i8", "f64")


@st.composite
def movements(draw: st.DrawFn) -> Graph:
    """Up to five ops that only move data, one after another."""
    element = draw(st.sampled_from(ELEMENTS))
    builder = GraphBuilder()
    first = builder.tensor(draw(shapes(3, empty=False)), element)
    builder.add(Constant(first))
    last = first
    for _ in range(draw(st.integers(0, 5))):
        last = draw(moved(builder, last))
    return builder.build((), (last,))


@st.composite
def moved(draw: st.DrawFn, builder: GraphBuilder, tensor: int) -> int:
    kind = builder.types[tensor]
    shape, rank = kind.shape, len(kind.shape)
    padding = f"{'3' if kind.element == 'i8' else '3.0'} : {kind.element}"

    def made(*sizes: int) -> int:
        return builder.tensor(sizes, kind.element)

    choice = draw(st.sampled_from(["transpose", "broadcast", "reshape", "pack", "pad", "slice",
                                   "concat", "flip"]))  # fmt: skip
    if math.prod(shape) > 2000 or (rank > 5 and choice in ("broadcast", "pack")):
        choice = "reshape"
    if choice in ("transpose", "broadcast", "flip"):
        order = draw(st.permutations(range(rank)))
        sizes = [shape[d] for d in order] + ([3] if choice == "broadcast" else [])
        read = [affine([(order.index(d), 1)]) for d in range(rank)]
        if choice == "flip" and rank:
            read[0] = affine([(order.index(0), -1)], shape[0] - 1)
        result = made(*sizes)
        loops = len(sizes)
        builder.add(
            Structured(
                (tensor,), (Uninitialized(),), (result,), tuple(sizes),
                (IteratorType.PARALLEL,) * loops, (tuple(read), plain_map(range(loops))),
                copy_body(kind.element),
            )
        )  # fmt: skip
    elif choice == "pack":
        layout = draw(layouts(shape, draw(st.booleans())))
        result = made(*layout.physical_shape(shape))
        builder.add(Pack(tensor, result, layout, padding if layout.pads(shape) else None))
    elif choice == "pad" and rank:
        low, high = (tuple(draw(st.integers(0, 2)) for _ in shape) for _ in range(2))
        result = made(*(n + a + b for n, a, b in zip(shape, low, high, strict=True)))
        builder.add(Pad(tensor, result, low, high, padding))
    elif choice == "slice":
        offsets = tuple(draw(st.integers(0, n - 1)) for n in shape)
        strides = tuple(draw(st.integers(1, 3)) for _ in shape)
        sizes = [-(-(n - o) // s) for n, o, s in zip(shape, offsets, strides, strict=True)]
        result = made(*sizes)
        builder.add(Slice(tensor, result, offsets, strides))
    elif choice == "concat" and rank:
        axis = draw(st.integers(0, rank - 1))
        result = made(*(2 * n if d == axis else n for d, n in enumerate(shape)))
        builder.add(Concat((tensor, tensor), result, axis))
    else:
        total = math.prod(shape)
        tile = draw(st.sampled_from(divisors(total)))
        result = made(total // tile, tile)
        builder.add(Reshape(tensor, result))
    return result


def stored(graph: Graph, array: Array, folder: Path, parts: bool) -> tuple[bytes, bool]:
    """The bytes that a movement writes, and whether it is a splat."""
    tensor = graph.outputs[0]
    kind = graph.types[tensor]
    source, target = file_of(array.tobytes()), file_of(bytes(kind.size_bytes))
    leaf = source.bytes.view(raw_type(kind)).reshape(array.shape)
    movement = Movement(graph, {0: leaf}, (source, target), folder)
    into = target.bytes.view(raw_type(kind)).reshape(kind.shape)
    if parts:
        for row in range(movement.rows(tensor)):
            movement.store_rows(tensor, slice(row, row + 1), into)
    else:
        movement.store(tensor, into)
    return contents_of(target), movement.is_splat(tensor)


@given(movements(), st.booleans(), st.sampled_from([8, 64, 1 << 20]))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_movement_is_what_the_oracle_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, graph: Graph, parts: bool, block: int
) -> None:
    monkeypatch.setattr(stream, "BLOCK_BYTES", block)
    assert not_a_movement(graph) is None
    kind = graph.types[0]
    dtype = numpy_dtype(kind.element)
    array = np.arange(kind.elements).astype(dtype).reshape(kind.shape)
    expected = evaluate(graph, {0: array})[graph.outputs[0]]
    found, _ = stored(graph, array, tmp_path, parts)
    assert found == np.ascontiguousarray(expected).tobytes()


def test_a_moved_splat_is_a_splat(tmp_path: Path) -> None:
    builder = GraphBuilder()
    a, b = builder.tensor((4, 6), "f32"), builder.tensor((24,), "f32")
    c = builder.tensor((25,), "f32")
    builder.add(Constant(a))
    builder.add(Reshape(a, b))
    builder.add(Pad(b, c, (0,), (1,), "1.0 : f32"))
    leaf = np.broadcast_to(np.uint32(5), (4, 6))
    movement = Movement(builder.build((), (b, c)), {a: leaf}, (), tmp_path)
    assert movement.is_splat(b)
    assert movement.element(b) == b"\5\0\0\0"
    assert not movement.is_splat(c)


def structured(element: str, *ops: ScalarOp) -> Graph:
    builder = GraphBuilder()
    a, b = builder.tensor((4,), element), builder.tensor((4,), element)
    builder.add(Constant(a))
    body = copy_body(element)
    if ops:
        body = Body(body.arguments, ops, (len(body.arguments) + len(ops) - 1,))
    builder.add(
        Structured(
            (a,), (Uninitialized(),), (b,), (4,), (IteratorType.PARALLEL,),
            (plain_map([0]), plain_map([0])), body,
        )
    )  # fmt: skip
    return builder.build((), (b,))


def test_arithmetic_is_no_movement() -> None:
    graph = structured("f32", ScalarOp("arith.negf", (0,), "f32"))
    assert not_a_movement(graph) == "arith.negf computes new values"


def test_small_elements_are_refused() -> None:
    assert not_a_movement(structured("i4")) == "elements of type i4 take no whole bytes"


def test_padding_of_a_type_without_a_known_value_is_refused() -> None:
    graph = structured("f8E4M3")
    assert not_a_movement(graph) is None
    padded = replace(
        graph,
        types=(*graph.types, replace(graph.types[1], shape=(5,))),
        ops=(*graph.ops, Pad(1, 2, (0,), (1,), "0.0 : f8E4M3")),
    )
    assert not_a_movement(padded) == "constants of type f8E4M3 are not known here"
