"""Packs and unpacks in the graph's own ops: a relayout is a transpose of the dims split by tiles.

    pack(x)     ->   transpose(expand(pad(x)))
    unpack(x)   ->   slice(collapse(transpose(x)))

The pad and the slice are there where a tile does not divide its dim.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    GraphBuilder,
    IteratorType,
    Pack,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
    Unpack,
)
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.scalar import copy_body
from layoutopt.ir.types import TensorType


def add_pack(builder: GraphBuilder, kind: TensorType, op: Pack) -> None:
    """Add what makes the result of a pack; ``kind``: the type of its source."""
    source, whole = op.source, op.layout.padded_shape(kind.shape)
    if op.padding is not None and whole != kind.shape:
        source = builder.tensor(whole, kind.element)
        high = tuple(w - n for w, n in zip(whole, kind.shape, strict=True))
        free = op.layout.padding is Padding.ANY
        builder.add(Pad(op.source, source, (0,) * len(high), high, op.padding, free))
    split, places = split_dims(whole, op.layout)
    if split != whole:
        expanded = builder.tensor(split, kind.element)
        builder.add(Reshape(source, expanded))
        source = expanded
    add_transpose(builder, TensorType(split, kind.element), source, op.result, places)


def add_unpack(builder: GraphBuilder, kind: TensorType, op: Unpack) -> None:
    """Add what makes the result of an unpack; ``kind``: the type of its result."""
    whole = op.layout.padded_shape(kind.shape)
    split, places = split_dims(whole, op.layout)
    back = tuple(places.index(d) for d in range(len(places)))
    padded = op.result if whole == kind.shape else builder.tensor(whole, kind.element)
    expanded = padded if split == whole else builder.tensor(split, kind.element)
    shape = tuple(split[d] for d in places)
    add_transpose(builder, TensorType(shape, kind.element), op.source, expanded, back)
    if expanded != padded:
        builder.add(Reshape(expanded, padded))
    if padded != op.result:
        rank = len(whole)
        builder.add(Slice(padded, op.result, (0,) * rank, (1,) * rank))


def stays_in_place(shape: Sequence[int], layout: Layout) -> bool:
    """Whether packing a row-major tensor of the shape fills up tiles, and moves nothing else."""
    split, places = split_dims(layout.padded_shape(shape), layout)
    return _keeps_order(split, places)


def _keeps_order(shape: Sequence[int], places: Sequence[int]) -> bool:
    moving = [d for d in places if shape[d] != 1]
    return moving == sorted(moving)


def split_dims(whole: Sequence[int], layout: Layout) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape with each tiled dim as two, and where each dim in memory stands in it."""
    split: list[int] = []
    outer: dict[int, int] = {}
    inner: dict[int, int] = {}
    for d, n in enumerate(whole):
        outer[d] = len(split)
        split.append(n // layout.tile_of(d))
        if d in layout.inner_dims_pos:
            inner[d] = len(split)
            split.append(layout.tile_of(d))
    places = [outer[d] for d in layout.outer_dims_perm] + [inner[d] for d in layout.inner_dims_pos]
    return tuple(split), tuple(places)


def add_transpose(
    builder: GraphBuilder, kind: TensorType, source: int, result: int, places: tuple[int, ...]
) -> None:
    """Dim i of the result is dim ``places[i]`` of the source, which is of type ``kind``.

    Where unit dims alone move it is a reshape.
    """
    rank = len(places)
    if _keeps_order(kind.shape, places):
        builder.add(Reshape(source, result))
        return
    builder.add(
        Structured(
            (source,),
            (Uninitialized(),),
            (result,),
            tuple(kind.shape[d] for d in places),
            (IteratorType.PARALLEL,) * rank,
            (plain_map(places.index(d) for d in range(rank)), identity_map(rank)),
            copy_body(kind.element),
        )
    )
