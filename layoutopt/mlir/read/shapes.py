"""The sizes of tensors whose types leave them open, from the op that makes each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import Undecided
from layoutopt.mlir.read.sizes import DYNAMIC, Sizes

Scalars = Mapping[Any, tuple[str, str]]
_CAST = "tensor.cast"
_PACKS = ("linalg.pack", "linalg.unpack")
_THROUGH = (
    "hal.tensor.barrier",
    "util.optimization_barrier",
    "iree_tensor_ext.compute_barrier.start",
    "iree_tensor_ext.compute_barrier.end",
)
_WRITERS = ("linalg.", "iree_linalg_ext.")


def is_dynamic(kind: Any) -> bool:
    """Whether it is the type of a tensor that leaves sizes open."""
    return isinstance(kind, ir.RankedTensorType) and not kind.has_static_shape


def learn_shapes(sizes: Sizes, op: Any, scalars: Scalars) -> None:
    """Learn the sizes of what an op makes, as far as they follow from what it reads.

    And from a cast to numbers, that what it reads has these sizes.
    """
    for position, value in enumerate(op.operation.results):
        if is_dynamic(value.type) or op.operation.name == _CAST:
            try:
                shape = _shape(sizes, op.operation, position, scalars)
            except Undecided:
                shape = None
            if shape is not None and is_dynamic(value.type):
                sizes.shapes[value] = _stated(value.type, shape)


def _stated(kind: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes, numbers where the type has numbers."""
    return tuple(n if kind.is_dynamic_dim(d) else kind.get_dim_size(d) for d, n in enumerate(shape))


def _shape(sizes: Sizes, operation: Any, position: int, scalars: Scalars) -> tuple[int, ...] | None:
    name, operands = operation.name, list(operation.operands)
    if name.startswith(_WRITERS):  # behind what packs write into come padding and tiles
        into = 1 if name in _PACKS else len(operands) - len(operation.results) + position
        return sizes.shape_of(operands[into])
    if name in _THROUGH:
        return sizes.shape_of(operands[position])
    return _SHAPES[name](sizes, operation, scalars) if name in _SHAPES else None


def _same(sizes: Sizes, source: Any, result: Any) -> tuple[int, ...] | None:
    """A cast keeps the sizes; those that its type states are the source's too."""
    shape = sizes.shape_of(source)
    if shape is None or not isinstance(result.type, ir.RankedTensorType):
        return None
    for n, stated in zip(shape, _stated(result.type, shape), strict=True):
        sizes.unify(stated, n)
    return tuple(map(sizes.resolved, shape))


def _told(sizes: Sizes, operation: Any, scalars: Scalars) -> tuple[int, ...] | None:
    """The sizes that operands tell; of a tensor that has its own, they are these."""
    source, *more = operation.operands
    given = [v for v in more if str(v.type) == "index"]
    told = _of_type(sizes, operation.results[0].type, given, scalars)
    known = sizes.shape_of(source) if isinstance(source.type, ir.RankedTensorType) else None
    for one, other in zip(known or (), told or (), strict=False):
        sizes.unify(one, other)
    return told


def _of_type(sizes: Sizes, kind: Any, given: list[Any], scalars: Scalars) -> tuple[int, ...] | None:
    """The sizes of a type, its open ones from values in order."""
    left = iter(given)
    found = []
    for d in range(kind.rank):
        if not kind.is_dynamic_dim(d):
            found.append(kind.get_dim_size(d))
            continue
        value = next(left, None)
        number = None if value is None else sizes.number_of(value, scalars)
        if number is None:
            return None
        found.append(int(number) if isinstance(number, bool) else number)
    return tuple(found)


def is_shape(sizes: Sizes, operation: Any, scalars: Scalars) -> bool:
    """Whether an op only lists known sizes, for reshapes to take."""
    if operation.name != "tensor.from_elements":
        return False
    if any(sizes.number_of(v, scalars) is None for v in operation.operands):
        return False
    uses = list(operation.results[0].uses)
    return all(u.owner.name == "tensor.reshape" and u.operand_number == 1 for u in uses)


def stated_shape(sizes: Sizes, operation: Any, scalars: Scalars) -> tuple[int, ...] | None:
    """The shape that a ``tensor.reshape`` is given, None where it is computed otherwise."""
    kind = operation.results[0].type
    if kind.has_static_shape:
        return tuple(kind.shape)
    maker = getattr(operation.operands[1].owner, "operation", None)
    if maker is None or not is_shape(sizes, maker, scalars):
        return None
    open_sizes = [v for d, v in enumerate(maker.operands) if kind.is_dynamic_dim(d)]
    return _of_type(sizes, kind, open_sizes, scalars)


def ranges(
    sizes: Sizes, operation: Any, attribute: str, given: list[Any], scalars: Scalars
) -> tuple[int, ...] | None:
    """The numbers of an attribute that leaves some of them to operands, which are ``given``."""
    left = iter(given)
    found: list[int] = []
    for stated in ir.DenseI64ArrayAttr(operation.attributes[attribute]):
        value = next(left, None) if stated == DYNAMIC else None
        number = stated if value is None else sizes.number_of(value, scalars)
        if number is None or number == DYNAMIC or isinstance(number, bool):
            return None
        found.append(number)
    return tuple(found)


def segments(operation: Any) -> list[list[Any]]:
    """The operands of a slice or an insert, in the segments that its attribute states."""
    counts = list(ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"]))
    operands = list(operation.operands)
    found = []
    for count in counts:
        found.append(operands[:count])
        operands = operands[count:]
    return found


def _grouped(sizes: Sizes, operation: Any) -> tuple[int, ...] | None:
    shape = sizes.shape_of(operation.operands[0])
    if shape is None:
        return None
    groups = ir.ArrayAttr(operation.attributes["reassociation"])
    dims = [[ir.IntegerAttr(d).value for d in ir.ArrayAttr(group)] for group in groups]
    return tuple(math.prod(shape[d] for d in group) for group in dims)


def _sliced(sizes: Sizes, operation: Any, scalars: Scalars) -> tuple[int, ...] | None:
    given = segments(operation)[2]
    found = ranges(sizes, operation, "static_sizes", given, scalars)
    return None if found is None else without_units(found, operation.results[0].type)


def without_units(shape: tuple[int, ...], kind: Any) -> tuple[int, ...] | None:
    """The sizes less the dims of size one that a type does not have."""
    excess = len(shape) - kind.rank
    found: list[int] = []
    for n in shape:
        place = len(found)
        stated = place < kind.rank and not kind.is_dynamic_dim(place)
        fits = place < kind.rank and (not stated or kind.get_dim_size(place) == n)
        if n == 1 and excess and not (stated and fits):
            excess -= 1
            continue
        found.append(n)
    return tuple(found) if len(found) == kind.rank else None


def _padded(sizes: Sizes, operation: Any, scalars: Scalars) -> tuple[int, ...] | None:
    source, low_given, high_given = segments(operation)
    shape = sizes.shape_of(source[0])
    low = ranges(sizes, operation, "static_low", low_given, scalars)
    high = ranges(sizes, operation, "static_high", high_given, scalars)
    if shape is None or low is None or high is None:
        return None
    return tuple(a + n + b for a, n, b in zip(low, shape, high, strict=True))


def _joined(sizes: Sizes, operation: Any) -> tuple[int, ...] | None:
    axis = ir.IntegerAttr(operation.attributes["dim"]).value
    shapes = [sizes.shape_of(v) for v in operation.operands]
    known = [s for s in shapes if s is not None]
    if len(known) < len(shapes):
        return None
    total = sum(s[axis] for s in known)
    return tuple(total if d == axis else n for d, n in enumerate(known[0]))


_SHAPES: Mapping[str, Callable[[Sizes, Any, Scalars], tuple[int, ...] | None]] = {
    "tensor.empty": lambda sizes, op, scalars: _of_type(
        sizes, op.results[0].type, list(op.operands), scalars
    ),
    "tensor.cast": lambda sizes, op, _: _same(sizes, op.operands[0], op.results[0]),
    "flow.tensor.tie_shape": _told,
    "hal.tensor.import": _told,
    "tensor.expand_shape": lambda sizes, op, scalars: ranges(
        sizes, op, "static_output_shape", list(op.operands)[1:], scalars
    ),
    "tensor.collapse_shape": lambda sizes, op, _: _grouped(sizes, op),
    "tensor.reshape": stated_shape,
    "tensor.extract_slice": _sliced,
    "tensor.insert_slice": lambda sizes, op, _: sizes.shape_of(op.operands[1]),
    "tensor.pad": _padded,
    "tensor.concat": lambda sizes, op, _: _joined(sizes, op),
}
"""By op, the sizes of what it makes, from what it reads."""
