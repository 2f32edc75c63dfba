"""Lift slices and inserts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Insert, Reshape, Slice
from layoutopt.ir.size import MOST, Size, symbol
from layoutopt.mlir.read.shapes import ranges, segments
from layoutopt.mlir.read.sizes import DYNAMIC
from layoutopt.mlir.read.state import (
    NotUnderstood,
    State,
    new_tensor,
    static_type,
    tensor_of,
    type_by_now,
)


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
    sizes = _of_source(state, type_by_now(state, source).shape, sizes)
    if type_by_now(state, source).shape != sizes:
        whole = state.builder.tensor(sizes, kind.element)
        state.builder.add(Reshape(source, whole))
        source = whole
    state.builder.add(
        Insert(source, destination, new_tensor(state, op.result, kind), offsets, strides)
    )


def _of_source(state: State, shape: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of an insert, which are those of what it inserts, but for dims of 1 that it adds.

    Raises NotUnderstood where they are not for certain.
    """
    added = len(shape) != len(sizes)
    own = [n for n in shape if not added or n != 1]
    stated = [n for n in sizes if not added or n != 1]
    same = (
        state.sizes.unify(a, b) == state.sizes.resolved(b)
        for a, b in zip(own, stated, strict=False)
    )
    if len(own) != len(stated) or not all(same):
        shown = (f"({', '.join(map(str, of))})" for of in (sizes, shape))
        raise NotUnderstood("expected to insert sizes {}, but got a tensor of {}".format(*shown))
    return tuple(map(state.sizes.resolved, sizes))


def _ranges(state: State, op: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    given = segments(op.operation)[-3:]
    names = ("static_sizes", "static_strides")
    sizes, strides = (
        ranges(state.sizes, op.operation, name, values, state.scalars)
        for name, values in zip(names, given[1:], strict=True)
    )
    if sizes is None or strides is None:
        raise NotUnderstood("expected a slice of known sizes, but they are computed")
    if any(isinstance(n, Size) for n in strides):
        raise NotUnderstood(f"expected strides that are numbers, but got {strides}")
    whole = op.operation.operands[-1 - sum(map(len, given))]
    stated = integers(op.operation.attributes["static_offsets"])
    open_dims = [d for d, n in enumerate(stated) if n == DYNAMIC]
    _name_offsets(state, dict(zip(open_dims, given[0], strict=True)), whole, sizes)
    offsets = ranges(state.sizes, op.operation, "static_offsets", given[0], state.scalars)
    if offsets is None:
        raise NotUnderstood("expected offsets that are indices, but got others")
    _inside(state, whole, offsets, sizes)
    return offsets, sizes, strides


def _name_offsets(state: State, given: Mapping[int, Any], whole: Any, sizes: Sequence[int]) -> None:
    """Name the offsets that the module computes from its tensors: symbols of their own.

    A slice lies inside of the tensor, whatever they are.
    """
    shape = state.sizes.shape_of(whole) or ()
    for d, value in given.items():
        known = state.sizes.number_of(value, state.scalars)
        room = shape[d] - sizes[d] if d < len(shape) else MOST
        high = MOST if isinstance(room, Size) else max(room, 0)
        if known is not None:
            state.sizes.narrow(known, 0, high)
            continue
        make = partial(symbol, high=high, planned=high // 2 if high < MOST else 0)
        name = f"{state.prefix}offset{len(state.sizes.values)}"
        state.sizes.numbers[value] = state.sizes.name(name, make, value, len(state.kept))


def _inside(state: State, whole: Any, offsets: Sequence[int], sizes: Sequence[int]) -> None:
    """Learn from a slice that is to lie inside of a tensor how large it can be at most."""
    shape = state.sizes.shape_of(whole) or ()
    for n, offset, size in zip(shape, offsets, sizes, strict=False):
        if not isinstance(n, Size) and not isinstance(offset, Size):
            state.sizes.narrow(size, 0, n - offset)


def integers(attribute: Any) -> tuple[int, ...]:
    """The numbers of a dense array."""
    return tuple(int(x) for x in ir.DenseI64ArrayAttr(attribute))
