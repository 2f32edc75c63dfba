"""Random ops over tiles as they come in a model: between packs and unpacks, or given so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Pack,
    Structured,
    Uninitialized,
    Unpack,
)
from layoutopt.ir.layout import Layout
from layoutopt.ir.relayout import Physical
from layoutopt.ir.renaming import renumbered
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.types import TensorType, is_float
from layoutopt.rules.propagation import relayout
from tests.property.rules.ops import STRUCTURED
from tests.property.rules.relaid import tiled_loops


@st.composite
def packed_ops(draw: st.DrawFn) -> Graph:
    """An op over tiles that do not have to divide its loops, and what may stand around it."""
    kind = draw(st.sampled_from(sorted(STRUCTURED)))
    graph = draw(STRUCTURED[kind]())
    op = graph.ops[-1]
    assert isinstance(op, Structured)
    random = Random(draw(st.integers(0, 1 << 20)))
    chosen: Mapping[int, Layout] = {}
    physical = Physical(graph.types)
    for _ in range(5):
        chosen = tiled_loops(graph.types, op, random)
        physical = Physical(graph.types)
        if relayout(op, chosen, physical) is None:
            break
    else:
        return graph
    place = {t: physical.tensor(t, chosen[t]) for t in (*op.inputs, *op.outputs)}
    around = GraphBuilder()
    number = dict(
        enumerate(around.tensor(kind.shape, kind.element) for kind in physical.builder.types)
    )
    inputs = [
        _packed(draw, around, graph.types[t], chosen[t], number[place[t]])
        for t in dict.fromkeys(op.inputs)
    ]
    for made in physical.builder.ops:
        around.add(renumbered(made, number))
    outputs = [
        _unpacked(draw, around, graph.types[t], chosen[t], number[place[t]]) for t in op.outputs
    ]
    return around.build(inputs, [t for group in outputs for t in group])


@st.composite
def round_trips(draw: st.DrawFn) -> Graph:
    """A tensor packed and unpacked, or the other way about, with layouts that may differ."""
    builder = GraphBuilder()
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 6)) for _ in range(rank))
    layout = _layout(draw, rank)
    back = replace(layout, outer_dims_perm=tuple(draw(st.permutations(range(rank)))))
    back = draw(st.sampled_from([layout, layout, back]))
    x = builder.tensor(shape, "f32")
    packed = builder.tensor(layout.physical_shape(shape), "f32")
    if draw(st.booleans()):
        builder.add(Pack(x, packed, layout, "1.0 : f32" if layout.pads(shape) else None))
        sizes = _sizes_within(back, builder.types[packed].shape)
        if back == layout and draw(st.booleans()):
            sizes = shape
        y = builder.tensor(sizes, "f32")
        builder.add(Unpack(packed, y, back))
        return builder.build((x,), (y,))
    z = builder.tensor(back.physical_shape(shape), "f32")
    builder.add(Unpack(packed, x, layout))
    builder.add(Pack(x, z, back, "1.0 : f32" if back.pads(shape) else None))
    return builder.build((packed,), (z,))


def _layout(draw: st.DrawFn, rank: int) -> Layout:
    inner = [d for d in draw(st.permutations(range(rank))) if draw(st.booleans())]
    tiles = tuple(draw(st.integers(1, 4)) for _ in inner)
    return Layout(tuple(draw(st.permutations(range(rank)))), tuple(inner), tiles)


def _sizes_within(layout: Layout, memory: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of the tensor that fills such memory up."""
    place = layout.outer_dims_perm.index
    return tuple(memory[place(d)] * layout.tile_of(d) for d in range(layout.rank))


def _packed(
    draw: st.DrawFn, builder: GraphBuilder, kind: TensorType, layout: Layout, place: int
) -> int:
    """An input that is packed here, or one that comes packed."""
    if not layout.is_tiled or draw(st.integers(0, 3)) == 0:
        return place
    given = builder.tensor(kind.shape, kind.element)
    number = draw(st.sampled_from([0, 0, 0, 2]))
    text = f"{number}{'.0' * is_float(kind.element)} : {kind.element}"
    if kind.element == "i1":
        text = "true" if number else "false"
    builder.add(Pack(given, place, layout, text if layout.pads(kind.shape) else None))
    return given


def _unpacked(
    draw: st.DrawFn, builder: GraphBuilder, kind: TensorType, layout: Layout, place: int
) -> list[int]:
    """An output that is unpacked here, behind one more op or not, or that stays packed."""
    memory = layout.physical_type(kind)
    if is_float(kind.element) and draw(st.booleans()):
        made = builder.tensor(memory.shape, kind.element)
        rank = len(memory.shape)
        negated = Body((kind.element,) * 2, (ScalarOp("arith.negf", (0,), kind.element),), (2,))
        builder.add(
            Structured(
                (place,),
                (Uninitialized(),),
                (made,),
                memory.shape,
                (IteratorType.PARALLEL,) * rank,
                (identity_map(rank),) * 2,
                negated,
            )
        )
        place = made
    if not layout.is_tiled or draw(st.integers(0, 3)) == 0:
        return [place]
    whole = builder.tensor(kind.shape, kind.element)
    builder.add(Unpack(place, whole, layout))
    return [whole, place] if draw(st.integers(0, 3)) == 0 else [whole]
