"""Lift packs and unpacks: conversions that came with the model."""

from __future__ import annotations

from typing import Any

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import (
    Insert,
    IteratorType,
    Pack,
    Structured,
    Uninitialized,
    Unpack,
)
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.scalar import copy_body
from layoutopt.ir.types import TensorType
from layoutopt.mlir.read.run_time_scalars import scalar_tensor
from layoutopt.mlir.read.sizes import DYNAMIC
from layoutopt.mlir.read.slices import integers
from layoutopt.mlir.read.state import NotUnderstood, State, new_tensor, static_type, tensor_of

POISON = "ub.poison"


def lift_pack(state: State, op: Any) -> None:
    """Add a pack. Raises NotUnderstood where its tiles are computed.

    Padding that is computed is put around the source first.
    """
    operands = list(op.operation.operands)
    logical, kind = static_type(state, operands[0]), static_type(state, op.results[0])
    layout = _layout(op, logical, kind)
    padded = int(op.operation.attributes["operandSegmentSizes"][2])
    value = operands[2] if padded else None
    source = tensor_of(state, operands[0])
    text = None if value is None else state.scalars.get(value, (None,))[0]
    if not layout.pads(logical.shape):
        text = None
    elif value is not None and text is None:
        source = _within(state, source, layout, scalar_tensor(state, value, op))
    state.builder.add(Pack(source, new_tensor(state, op.results[0], kind), layout, text))


def lift_unpack(state: State, op: Any) -> None:
    """Add an unpack. Raises NotUnderstood where its tiles are computed."""
    packed = op.operation.operands[0]
    kind = static_type(state, op.results[0])
    layout = _layout(op, kind, static_type(state, packed))
    source = tensor_of(state, packed)
    state.builder.add(Unpack(source, new_tensor(state, op.results[0], kind), layout))


def lift_poison(state: State, op: Any) -> bool:
    """Take a number that may be anything for zero; False where the type's zero is not known."""
    value = op.operation.results[0]
    zero = Padding.ZERO.text(str(value.type))
    if zero is None:
        return False
    state.scalars[value] = (zero, str(value.type))
    state.kept.append(op)
    return True


def _layout(op: Any, logical: TensorType, packed: TensorType) -> Layout:
    attributes = op.operation.attributes
    tiles = integers(attributes["static_inner_tiles"])
    if DYNAMIC in tiles:
        raise NotUnderstood("expected static tiles, but they are computed")
    outer = integers(attributes["outer_dims_perm"]) if "outer_dims_perm" in attributes else ()
    rank = len(logical.shape)
    layout = Layout(outer or tuple(range(rank)), integers(attributes["inner_dims_pos"]), tiles)
    if layout.physical_type(logical) != packed:
        raise NotUnderstood(f"expected {packed} to hold whole tiles of {logical}, but it may not")
    return layout


def _within(state: State, source: int, layout: Layout, value: int) -> int:
    """The source, padded up to whole tiles with a number that is known at run time only."""
    kind = state.builder.types[source]
    whole = layout.padded_shape(kind.shape)
    rank = len(whole)
    border, padded = (state.builder.tensor(whole, kind.element) for _ in range(2))
    state.builder.add(
        Structured(
            (value,),
            (Uninitialized(),),
            (border,),
            whole,
            (IteratorType.PARALLEL,) * rank,
            ((), identity_map(rank)),
            copy_body(kind.element),
        )
    )
    state.builder.add(Insert(source, border, padded, (0,) * rank, (1,) * rank))
    return padded
