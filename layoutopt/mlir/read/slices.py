"""Lift slices and inserts."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Insert, Reshape, Slice
from layoutopt.mlir.read.state import NotUnderstood, State, new_tensor, static_type, tensor_of

_DYNAMIC = -(2**63)


def lift_slice(state: State, op: Any) -> None:
    """Add a slice, and a reshape behind one that drops dims.

    Raises NotUnderstood where offsets or sizes are computed.
    """
    kind = static_type(op.result.type)
    if len(op.operation.operands) != 1:
        raise NotUnderstood("expected a static slice, but offsets or sizes are computed")
    offsets, sizes, strides = _ranges(op)
    source = tensor_of(state, op.operation.operands[0])
    if sizes == kind.shape:
        state.builder.add(Slice(source, new_tensor(state, op.result, kind), offsets, strides))
        return
    whole = state.builder.tensor(sizes, kind.element)
    state.builder.add(Slice(source, whole, offsets, strides))
    state.builder.add(Reshape(whole, new_tensor(state, op.result, kind)))


def lift_insert(state: State, op: Any) -> None:
    """Add an insert behind a reshape where dims are added.

    Raises NotUnderstood where offsets or sizes are computed.
    """
    kind = static_type(op.result.type)
    if len(op.operation.operands) != 2:
        raise NotUnderstood("expected a static insert, but offsets or sizes are computed")
    offsets, sizes, strides = _ranges(op)
    source = tensor_of(state, op.operation.operands[0])
    destination = tensor_of(state, op.operation.operands[1])
    if state.builder.types[source].shape != sizes:
        whole = state.builder.tensor(sizes, kind.element)
        state.builder.add(Reshape(source, whole))
        source = whole
    state.builder.add(
        Insert(source, destination, new_tensor(state, op.result, kind), offsets, strides)
    )


def _ranges(op: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    attributes = op.operation.attributes
    found = tuple(
        integers(attributes[n]) for n in ("static_offsets", "static_sizes", "static_strides")
    )
    if any(_DYNAMIC in values for values in found):
        raise NotUnderstood("expected a static slice, but offsets or sizes are computed")
    return found[0], found[1], found[2]


def integers(attribute: Any) -> tuple[int, ...]:
    """The numbers of a dense array."""
    return tuple(int(x) for x in ir.DenseI64ArrayAttr(attribute))
