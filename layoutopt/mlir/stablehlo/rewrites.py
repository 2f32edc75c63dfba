"""Ops of StableHLO that read sizes from operands, as ops that IREE converts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iree.compiler import ir

from layoutopt.ir.reassociation import reassociation
from layoutopt.ir.size import Size, Undecided, bounds
from layoutopt.mlir.read.sizes import DYNAMIC, Sizes
from layoutopt.mlir.stablehlo.building import (
    Place,
    ahead,
    cast,
    empty,
    generic,
    known_shape,
    listed,
    made,
    open_values,
    replaced,
    tensor_type,
)
from layoutopt.mlir.stablehlo.contractions import contract
from layoutopt.mlir.stablehlo.convolutions import convolve
from layoutopt.mlir.stablehlo.gathers import gather
from layoutopt.mlir.stablehlo.numbers import Numbers
from layoutopt.mlir.stablehlo.pools import plain_window
from layoutopt.mlir.stablehlo.shapes import told
from layoutopt.mlir.stablehlo.slices import slice_out, update
from layoutopt.mlir.stablehlo.unproved import UnprovedSize
from layoutopt.mlir.write.reshape import reshape_steps

Shape = tuple[int, ...]


def _broadcast(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    """A read of the source for each element. Raises UnprovedSize."""
    source, listing = op.operands
    target = told(numbers, listing)
    shape = known_shape(sizes, source)
    places: list[Place] = []
    for d, into in enumerate(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"])):
        repeats = _stated(op, d)
        if repeats is None:
            repeats = _repeats(shape[d], target[into])
        if repeats is None:
            raise UnprovedSize(
                op,
                f"dim {d} of what dynamic_broadcast_in_dim reads to be 1, or the size that it is "
                "repeated to, for certain",
                f"{shape[d]}, which is repeated to {target[into]}",
            )
        places.append(None if repeats else into)
    with ahead(op):
        made_into = empty(sizes, target, source.type)
        value = generic([(source, places)], target, made_into, lambda given: given[0])
    replaced(sizes, op, value)


def _stated(op: Any, dim: int) -> bool | None:
    """Whether the model says that a dim is repeated; None where it says nothing."""
    for name, repeats in (("expanding", True), ("nonexpanding", False)):
        attribute = f"known_{name}_dimensions"
        if attribute in op.attributes and dim in ir.DenseI64ArrayAttr(op.attributes[attribute]):
            return repeats
    return None


def _repeats(size: int, target: int) -> bool | None:
    """Whether a dim is repeated to another size; None where it is known at run time only.

    The op asks that the size is 1 or the target.
    """
    if size == target:
        return False
    if not isinstance(size, Size):
        return size == 1
    return False if bounds(size)[0] > 1 else None


def _iota(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    with ahead(op):
        op.operands[0] = listed(sizes, told(numbers, op.operands[0]))


def _reshape(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    source, listing = op.operands
    shape, target = known_shape(sizes, source), told(numbers, listing)
    with ahead(op):
        steps = _reshape_steps(shape, target)
        if steps is None:
            value = made("tensor.reshape", [source, listed(sizes, target)], op.results[0].type)
        else:
            value = cast(source, tensor_type(shape, source.type))
            for step in steps:
                value = _reshaped(sizes, value, shape, step)
                shape = step
    replaced(sizes, op, value)


def _reshape_steps(shape: Shape, target: Shape) -> list[Shape] | None:
    """Shapes on the way, each a collapse or an expand away; None where there are none."""
    try:
        steps = reshape_steps(shape, target)
        pairs = zip((shape, *steps), steps, strict=False)
        reached = all(a == b or _groups(a, b) is not None for a, b in pairs)
    except Undecided:
        return None
    return steps if reached else None


def _groups(one: Shape, other: Shape) -> list[list[int]] | None:
    return reassociation(other, one) if len(other) < len(one) else reassociation(one, other)


def _reshaped(sizes: Sizes, value: Any, shape: Shape, target: Shape) -> Any:
    if shape == target:
        return value
    kind = tensor_type(target, value.type)
    groups = _groups(shape, target) or []
    index = ir.IntegerType.get_signless(64)
    lists_of = [ir.ArrayAttr.get([ir.IntegerAttr.get(index, d) for d in g]) for g in groups]
    attributes = {"reassociation": ir.ArrayAttr.get(lists_of)}
    if len(target) < len(shape):
        return made("tensor.collapse_shape", [value], kind, **attributes)
    stated = [DYNAMIC if isinstance(n, Size) else n for n in target]
    attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(stated)
    return made("tensor.expand_shape", [value, *open_values(sizes, target)], kind, **attributes)


def _concatenate(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    """IREE would ask in each element which operand it comes from."""
    del numbers
    if op.results[0].type.has_static_shape:
        return
    with ahead(op):
        along = ir.IntegerAttr.get(
            ir.IntegerType.get_signless(64), ir.IntegerAttr(op.attributes["dimension"]).value
        )
        value = made("tensor.concat", list(op.operands), op.results[0].type, dim=along)
    replaced(sizes, op, value)


REWRITES: dict[str, Callable[[Any, Sizes, Numbers], None]] = {
    "stablehlo.dynamic_broadcast_in_dim": _broadcast,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.convolution": convolve,
    "stablehlo.dot_general": contract,
    "stablehlo.dynamic_gather": gather,
    "stablehlo.dynamic_iota": _iota,
    "stablehlo.dynamic_reshape": _reshape,
    "stablehlo.dynamic_update_slice": update,
    "stablehlo.gather": gather,
    "stablehlo.real_dynamic_slice": slice_out,
    "stablehlo.reduce_window": plain_window,
}
