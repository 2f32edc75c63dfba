"""The same ops over other tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from layoutopt.ir.graph import (
    Concat,
    Constant,
    DispatchRegion,
    Extension,
    FromTensor,
    FusionBarrier,
    Gather,
    Insert,
    Op,
    Opaque,
    Pack,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Unpack,
    tensors_made,
)


def renamed(op: Op, new: Callable[[int], int]) -> Op:
    """The op with other tensors in place of those it reads."""
    match op:
        case Structured():
            inits = tuple(
                FromTensor(new(i.tensor)) if isinstance(i, FromTensor) else i for i in op.inits
            )
            return replace(op, sources=tuple(map(new, op.sources)), inits=inits)
        case Pad() | Slice() | Reshape() | FusionBarrier() | Pack() | Unpack():
            return replace(op, source=new(op.source))
        case Insert():
            return replace(op, source=new(op.source), destination=new(op.destination))
        case Gather():
            return replace(op, table=new(op.table), indices=new(op.indices))
        case Concat() | Scatter() | Opaque():
            return replace(op, sources=tuple(map(new, op.sources)))
        case DispatchRegion():
            return replace(op, ops=tuple(renamed(inner, new) for inner in op.ops))
        case Constant():
            return op
        case Extension():
            return op.renamed(new, lambda result: result)
        case _:
            assert_never(op)


def counted_from_zero(ops: Iterable[Op]) -> tuple[tuple[Op, ...], tuple[int, ...]]:
    """The ops over tensors 0, 1, ... in order of appearance, and what these stand for."""
    ops = tuple(ops)
    tensors = tuple(dict.fromkeys(t for op in ops for t in (*op.inputs, *tensors_made(op))))
    number = {tensor: place for place, tensor in enumerate(tensors)}
    return tuple(renumbered(op, number) for op in ops), tensors


def renumbered(op: Op, number: Mapping[int, int]) -> Op:
    """The op over other tensors: those it reads, makes, and has inside."""
    moved = op if isinstance(op, DispatchRegion) else renamed(op, number.__getitem__)
    match moved:
        case DispatchRegion():
            return DispatchRegion(
                tuple(renumbered(inner, number) for inner in moved.ops),
                tuple(number[t] for t in moved.yields),
                tuple(number[t] for t in moved.results),
            )
        case Extension():
            return moved.renamed(lambda source: source, number.__getitem__)
        case Structured() | Opaque():
            return replace(moved, results=tuple(number[t] for t in moved.results))
        case (
            Pad()
            | Slice()
            | Insert()
            | Scatter()
            | Gather()
            | Concat()
            | Reshape()
            | FusionBarrier()
            | Pack()
            | Unpack()
            | Constant()
        ):
            return replace(moved, result=number[moved.result])
        case _:
            assert_never(moved)
