"""Gathers of open sizes: slices, or reads at places that a tensor tells.

    gather(%table, %ids) {start_index_map = [0], slice_sizes = [1, 64]}
      ->
    linalg.generic over (b, s, d): table[min(max(ids[b, s], 0), rows - 1), d]

Places are cut to where a slice lies within the tensor, as StableHLO has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import Size
from layoutopt.mlir.read.sizes import Sizes, built
from layoutopt.mlir.stablehlo.building import (
    ahead,
    arith,
    constant,
    empty,
    generic,
    known_shape,
    made,
    replaced,
)
from layoutopt.mlir.stablehlo.numbers import Numbers
from layoutopt.mlir.stablehlo.shapes import gathered, lists, number, told
from layoutopt.mlir.stablehlo.slices import cut, extracted


@dataclass(frozen=True, slots=True)
class _Gather:
    """A gather, by dim of what it reads."""

    shape: tuple[int, ...]
    slices: tuple[int, ...]
    starts: dict[int, int]
    """The component of an index that a dim begins at."""
    along: int
    """The dim of the indices that lists the components."""
    batch: list[int]
    """Dims of the result that go along with dims of the indices, in order."""
    loops: dict[int, int]
    """The dim of the result that a dim goes along with."""
    dropped: list[int]
    """Dims that the result lacks."""


def gather(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    """Write a gather as a slice, or as a loop over its result, where sizes are open."""
    if all(v.type.has_static_shape for v in (op.operands[0], op.operands[1], op.results[0])):
        return
    source, indices = list(op.operands)[:2]
    if not indices.type.element_type.is_signless:
        return
    shape, places = known_shape(sizes, source), known_shape(sizes, indices)
    about = _read(op, shape, _slices(op, numbers))
    with ahead(op):
        if not about.batch and not about.loops.keys() & set(about.dropped):
            starts = [
                cut(sizes, numbers.asked(indices, about.starts[d]), n - about.slices[d])
                if d in about.starts
                else 0
                for d, n in enumerate(shape)
            ]
            ranges = (starts, about.slices, [1] * len(shape))
            value = extracted(sizes, source, ranges, about.dropped)
        else:
            last = {d: about.shape[d] - about.slices[d] for d in about.starts}
            reads = [_component(sizes, indices, places, about, d) for d in about.starts]
            result = gathered(op, places, about.slices)
            ends = [built(sizes, n) if isinstance(n, Size) else None for n in last.values()]
            body = partial(_body, source, about, ends)
            value = generic(reads, result, empty(sizes, result, source.type), body)
    replaced(sizes, op, value)


def _slices(op: Any, numbers: Numbers) -> tuple[int, ...]:
    if op.name == "stablehlo.gather":
        return tuple(ir.DenseI64ArrayAttr(op.attributes["slice_sizes"]))
    return told(numbers, op.operands[2])


def _read(op: Any, shape: tuple[int, ...], slices: tuple[int, ...]) -> _Gather:
    text = op.attributes["dimension_numbers"]
    given = lists(text)
    offsets = given.get("offset_dims", [])
    along = number(text, "index_vector_dim", 0)
    batch = [d for d in range(op.results[0].type.rank) if d not in offsets]
    batching = given.get("operand_batching_dims", [])
    dropped = [*given.get("collapsed_slice_dims", []), *batching]
    kept = [d for d in range(len(shape)) if d not in dropped]
    loops = dict(zip(kept, offsets, strict=True))
    for d, place in zip(batching, given.get("start_indices_batching_dims", []), strict=True):
        loops[d] = batch[place - (place > along)]
    starts = {d: c for c, d in enumerate(given.get("start_index_map", []))}
    starts = {d: c for d, c in starts.items() if shape[d] != slices[d]}
    return _Gather(shape, slices, starts, along, batch, loops, dropped)


def _component(
    sizes: Sizes, indices: Any, places: Sequence[int], about: _Gather, dim: int
) -> tuple[Any, list[int | None]]:
    """Where all slices begin on a dim, and by dim of this tensor the loop that it goes along with.

    Places are cut already where the last one is a number.
    """
    loops: list[int | None] = [*about.batch]
    shape = [n for d, n in enumerate(places) if d != about.along]
    if about.along < len(places):
        first, part = [0] * len(places), [*places]
        first[about.along], part[about.along] = about.starts[dim], 1
        ranges = (first, part, [1] * len(places))
        indices = extracted(sizes, indices, ranges, [about.along])
    last = about.shape[dim] - about.slices[dim]
    if isinstance(last, Size):
        return indices, loops
    kind = indices.type.element_type
    cut_them = [(indices, [*range(len(shape))])]
    into = empty(sizes, shape, indices.type)
    return generic(cut_them, shape, into, partial(_cut, kind, last)), loops


def _cut(kind: Any, last: int, given: Sequence[Any]) -> Any:
    """A place in [0, last]."""
    value = arith("arith.maxsi", given[0], constant(0, kind))
    return arith("arith.minsi", value, constant(last, kind))


def _body(source: Any, about: _Gather, ends: Sequence[Any], given: Sequence[Any]) -> Any:
    """The element of the source that an element of the result is."""
    index = ir.IndexType.get()
    zero = constant(0, index)
    starts = dict(zip(about.starts, zip(given, ends, strict=False), strict=True))
    places = []
    for d in range(len(about.shape)):
        place = None
        if d in starts:
            found, end = starts[d]
            place = made("arith.index_cast", [found], index)
            if end is not None:
                place = arith("arith.minsi", arith("arith.maxsi", place, zero), end)
        if d in about.loops:
            along = made("linalg.index", [], index, dim=_dim(about.loops[d]))
            place = along if place is None else arith("arith.addi", place, along)
        places.append(zero if place is None else place)
    return made("tensor.extract", [source, *places], source.type.element_type)


def _dim(position: int) -> Any:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), position)
