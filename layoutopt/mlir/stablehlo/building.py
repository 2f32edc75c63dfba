"""Ops that are put into a module of StableHLO."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import Size
from layoutopt.mlir.read.sizes import DYNAMIC, Sizes, built

Place = int | None | tuple[tuple[int, int], ...]
"""What an operand of loops is read at: a loop, 0, or a sum of loops, each so many times."""


@contextmanager
def after(value: Any) -> Iterator[None]:
    """Make ops right behind the one that makes a value."""
    owner = value.owner
    at_start = isinstance(owner, ir.Block)
    point = ir.InsertionPoint.at_block_begin(owner) if at_start else ir.InsertionPoint.after(owner)
    with point, ir.Location.unknown(value.type.context):
        yield


@contextmanager
def ahead(op: Any) -> Iterator[None]:
    """Make ops in front of an op, at its location."""
    with ir.InsertionPoint(op), op.location:
        yield


def made(name: str, operands: Sequence[Any], kind: Any, **attributes: Any) -> Any:
    """The result of a new op."""
    return ir.Operation.create(
        name, results=[kind], operands=list(operands), attributes=attributes
    ).results[0]


def arith(name: str, *operands: Any) -> Any:
    """The result of a new op, of its operands' type."""
    return made(name, operands, operands[0].type)


def listed(sizes: Sizes, numbers: Sequence[int], kind: Any | None = None) -> Any:
    """A tensor that lists sizes; ``kind``: its type, one of index where none is given."""
    index = ir.IndexType.get()
    wanted = kind or ir.RankedTensorType.get([len(numbers)], index)
    values = [built(sizes, n) for n in numbers]
    if wanted.element_type != index:
        values = [made("arith.index_cast", [v], wanted.element_type) for v in values]
    return made("tensor.from_elements", values, wanted)


def tensor_type(shape: Sequence[int], like: Any) -> Any:
    """The type of a tensor of these sizes, with the elements of another type."""
    stated = [DYNAMIC if isinstance(n, Size) else n for n in shape]
    return ir.RankedTensorType.get(stated, like.element_type)


def known_shape(sizes: Sizes, value: Any) -> tuple[int, ...]:
    """The sizes of a tensor that has been reached: those that nothing tells have names."""
    found = sizes.shape_of(value)
    assert found is not None
    return found


def open_values(sizes: Sizes, shape: Sequence[int]) -> list[Any]:
    """The values of the sizes that a type leaves open."""
    return [built(sizes, n) for n in shape if isinstance(n, Size)]


def cast(value: Any, kind: Any) -> Any:
    """A tensor as one of another type that states more or less of its sizes."""
    return value if value.type == kind else made("tensor.cast", [value], kind)


def replaced(sizes: Sizes, op: Any, value: Any) -> None:
    """Put a value of any type that fits in place of an op's only result."""
    result = op.results[0]
    with ahead(op):
        value = cast(value, result.type)
    if result in sizes.shapes:
        sizes.shapes[value] = sizes.shapes[result]
    result.replace_all_uses_with(value)
    op.erase()


def generic(
    reads: Sequence[tuple[Any, Sequence[Place]]],
    shape: Sequence[int],
    into: Any,
    body: Callable[[Sequence[Any]], Any],
) -> Any:
    """The result of a ``linalg.generic`` whose first loops are the dims of its result.

    ``reads``: operands, and of each of their dims the place that it is read at. ``into``: what
    sums start from, in the loops behind those of the result. ``body``: from the elements that are
    read and the one of ``into``, the element of the result.
    """
    sums = [_loops_of(p) for _, places in reads for p in places]
    loops = max([len(shape), *(1 + loop for terms in sums for loop, _ in terms)])
    maps = [
        ir.AffineMap.get(loops, 0, [_expression(p) for p in places])
        for places in (*(places for _, places in reads), range(len(shape)))
    ]
    kinds = ["parallel"] * len(shape) + ["reduction"] * (loops - len(shape))
    op = ir.Operation.create(
        "linalg.generic",
        results=[into.type],
        operands=[*(value for value, _ in reads), into],
        attributes={
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
            "iterator_types": ir.ArrayAttr.get(
                [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
            ),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(reads), 1]),
        },
        regions=1,
    )
    elements = [v.type.element_type for v in op.operands]
    block = op.regions[0].blocks.append(*elements, arg_locs=[op.location] * len(elements))
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[body(list(block.arguments))])
    return op.results[0]


def _loops_of(place: Place) -> tuple[tuple[int, int], ...]:
    if isinstance(place, int):
        return ((place, 1),)
    return place or ()


def _expression(place: Place) -> Any:
    found = ir.AffineExpr.get_constant(0)
    for loop, times in _loops_of(place):
        found = found + ir.AffineExpr.get_dim(loop) * times
    return found


def empty(sizes: Sizes, shape: Sequence[int], like: Any) -> Any:
    """A tensor of these sizes without values, with the elements of a type."""
    return made("tensor.empty", open_values(sizes, shape), tensor_type(shape, like))


def constant(value: int, kind: Any) -> Any:
    """A number of a type."""
    attribute = ir.FloatAttr if isinstance(kind, ir.FloatType) else ir.IntegerAttr
    return made("arith.constant", [], kind, value=attribute.get(kind, value))
