"""Lift slices and inserts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Insert, Reshape, Slice
from layoutopt.ir.size import Size, symbol
from layoutopt.mlir.read.shapes import ranges, segments
from layoutopt.mlir.read.sizes import DYNAMIC
from layoutopt.mlir.read.state import NotUnderstood, State, new_tensor, static_type, tensor_of


def lift_slice(state: State, op: Any) -> None:
    """Add a slice, and a reshape behind one that drops dims.

    Raises NotUnderstood where offsets or sizes are not known.
    """
    kind = static_type(state, op.result)
    offsets, sizes, strides = _ranges(state, op)
    source = tensor_of(state, op.operation.operands[0])
    if sizes == kind.shape:
        state.builder.add(Slice(source, new_tensor(state, op.result, kind), offsets, strides))
        return
    whole = state.builder.tensor(sizes, kind.element)
    state.builder.add(Slice(source, whole, offsets, strides))
    state.builder.add(Reshape(whole, new_tensor(state, op.result, kind)))


def lift_insert(state: State, op: Any) -> None:
    """Add an insert behind a reshape where dims are added.

    Raises NotUnderstood where offsets or sizes are not known.
    """
    kind = static_type(state, op.result)
    offsets, sizes, strides = _ranges(state, op)
    source = tensor_of(state, op.operation.operands[0])
    destination = tensor_of(state, op.operation.operands[1])
    if state.builder.types[source].shape != sizes:
        whole = state.builder.tensor(sizes, kind.element)
        state.builder.add(Reshape(source, whole))
        source = whole
    state.builder.add(
        Insert(source, destination, new_tensor(state, op.result, kind), offsets, strides)
    )


def _ranges(state: State, op: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    given = segments(op.operation)[-3:]
    whole = op.operation.operands[-1 - sum(map(len, given))]
    sizes, strides = (
        ranges(state.sizes, op.operation, name, values, state.scalars)
        for name, values in zip(("static_sizes", "static_strides"), given[1:], strict=True)
    )
    if sizes is None or strides is None:
        raise NotUnderstood("expected a slice of known sizes, but they are computed")
    if any(isinstance(n, Size) for n in strides):
        raise NotUnderstood(f"expected strides that are numbers, but got {strides}")
    room = _room(state, whole, sizes, strides)
    offsets = _offsets(state, op, given[0], room)
    _inside(state, whole, offsets, sizes)
    return offsets, sizes, strides


def _room(
    state: State, whole: Any, sizes: Sequence[int], strides: Sequence[int]
) -> list[int | None]:
    """For each dim the largest offset there can be, where numbers tell: a slice lies inside."""
    shape = state.sizes.shape_of(whole) or (None,) * len(sizes)
    return [
        None if n is None or isinstance(n, Size) or isinstance(size, Size) or stride != 1
        else n - size
        for n, size, stride in zip(shape, sizes, strides, strict=True)
    ]  # fmt: skip


def _offsets(
    state: State, op: Any, given: Sequence[Any], room: Sequence[int | None]
) -> tuple[int, ...]:  # fmt: skip
    """The offsets of a slice; a place that is known at run time only is a symbol.

    Raises NotUnderstood where nothing bounds such a place.
    """
    left = iter(given)
    found: list[int] = []
    for stated, most in zip(integers(op.operation.attributes["static_offsets"]), room, strict=True):
        value = next(left) if stated == DYNAMIC else None
        number = stated if value is None else state.sizes.number_of(value, state.scalars)
        if number is None or isinstance(number, bool):
            stage = _stage(state, value, op)
            if most is None or most < 0 or stage is None:
                raise NotUnderstood("expected a slice at known places, but offsets are computed")
            number = _place(state, value, most, stage)
        elif most is not None and isinstance(number, Size):
            state.sizes.narrow(number, 0, most)
        found.append(number)
    return tuple(found)


def _place(state: State, value: Any, most: int, stage: int) -> int:
    """A place of at least 0 and at most ``most``."""
    if most == 0:
        return 0
    make = partial(symbol, low=0, high=most, planned=most // 2)
    name = f"{state.prefix}at{len(state.sizes.values)}"
    place = state.sizes.name(name, make, value, stage)
    state.sizes.numbers[value] = place
    return place


def _stage(state: State, value: Any, reader: Any) -> int | None:
    """How many kept ops must come before a value is there; None where no op that stays makes it."""
    if isinstance(value.owner, ir.Block):
        return 0
    owner = value.owner.operation
    if owner.block != reader.operation.block:
        return 0
    return next((i + 1 for i, kept in enumerate(state.kept) if kept.operation == owner), None)


def _inside(state: State, whole: Any, offsets: Sequence[int], sizes: Sequence[int]) -> None:
    """Learn from a slice that is to lie inside of a tensor how large it can be at most."""
    shape = state.sizes.shape_of(whole) or ()
    for n, offset, size in zip(shape, offsets, sizes, strict=False):
        if not isinstance(n, Size) and not isinstance(offset, Size):
            state.sizes.narrow(size, 0, n - offset)


def integers(attribute: Any) -> tuple[int, ...]:
    """The numbers of a dense array."""
    return tuple(int(x) for x in ir.DenseI64ArrayAttr(attribute))
