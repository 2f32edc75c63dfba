"""Layouts through a reshape: the result keeps the memory of its source.

    reshape(x:L) -> y:L'   where L' orders y's elements in memory as L orders x's

Free where such a layout exists (a split dim may become a tile and back); elsewhere the source
has to be row-major first. A padded dim has to be a dim of both shapes, with as many elements
behind it: then both shapes may be padded up to whole tiles and are a reshape of each other still.
"""

from __future__ import annotations

import math

from layoutopt.ir.graph import Reshape
from layoutopt.ir.layout import Layout, layout_of_runs, memory_runs, row_major, same_memory
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType


class ReshapeLayouts:
    """The propagation rule of ``tensor.collapse_shape`` and ``tensor.expand_shape``."""

    name = "reshape-layouts"

    def propagate(
        self, op: Reshape, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """The layout of the other side with the same memory."""
        other = op.result if tensor == op.source else op.source
        found = _through(layout, types[tensor].shape, types[other].shape)
        if found is None:
            return Refusal(
                f"expected a layout of {types[other]} with the memory of "
                f"{types[tensor]} in {layout}, but there is none"
            )
        return {tensor: layout, other: found}

    def relayout(self, op: Reshape, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Reshape the memory form."""
        source, result = layouts[op.source], layouts[op.result]
        shapes = physical.types[op.source].shape, physical.types[op.result].shape
        moved = _through(source, *shapes) if source.pads(shapes[0]) else None
        if moved is None:
            whole = [x.padded_shape(n) for x, n in zip((source, result), shapes, strict=True)]
            fits = (source.is_row_major and result.is_row_major) or (
                whole == list(shapes)
                and memory_runs(shapes[0], source) == memory_runs(shapes[1], result)
            )
        else:
            fits = same_memory(shapes[1], moved, result)
        if not fits:
            return Refusal(f"expected one memory order, but {source} and {result} differ")
        physical.builder.add(
            Reshape(physical.tensor(op.source, source), physical.tensor(op.result, result))
        )
        return None


def _through(layout: Layout, here: tuple[int, ...], there: tuple[int, ...]) -> Layout | None:
    """The layout of a tensor of shape ``there`` with the memory of one of shape ``here``."""
    if layout.is_row_major:  # by what a reshape means, whatever is known of open sizes
        return row_major(len(there))
    if 0 in here:
        return None
    if not layout.pads(here):
        return layout_of_runs(there, memory_runs(here, layout))
    number = _same_dims(layout, here, there)
    if number is not None:
        outer = [number[d] for d in layout.outer_dims_perm if d in number]
        outer += [d for d in range(len(there)) if d not in outer]
        inner = [d for d in layout.inner_dims_pos if d in number]
        found = Layout(
            tuple(outer), tuple(number[d] for d in inner), tuple(map(layout.tile_of, inner))
        )
        return found.padded_with(layout.padding)
    padded = _padded_dims(layout, here, there)
    if padded is None:
        return None
    sizes = layout.padded_shape(here)
    whole = tuple(sizes[padded[e]] if e in padded else n for e, n in enumerate(there))
    moved = layout_of_runs(whole, memory_runs(sizes, layout))
    for e in sorted(padded, reverse=True):
        tile = layout.tile_of(padded[e])
        moved = None if moved is None else _split_in_place(moved, whole, e, tile)
    if moved is None or moved.padded_shape(there) != whole:
        return None
    return moved.padded_with(layout.padding)


def _split_in_place(layout: Layout, shape: tuple[int, ...], dim: int, tile: int) -> Layout | None:
    """The same memory with a tile of a dim that has none; dims behind it become whole tiles."""
    if layout.tile_of(dim) != 1:
        return layout
    outer = layout.outer_dims_perm
    behind = [d for d in outer[outer.index(dim) + 1 :] if shape[d] != layout.tile_of(d)]
    if any(isinstance(shape[d], Size) or layout.tile_of(d) != 1 for d in behind):
        return None
    return Layout(
        outer,
        (dim, *behind, *layout.inner_dims_pos),
        (tile, *(shape[d] for d in behind), *layout.inner_tiles),
    )


def _same_dims(
    layout: Layout, here: tuple[int, ...], there: tuple[int, ...]
) -> dict[int, int] | None:
    """The dims of ``there`` by those of ``here``, where the shapes differ in unit dims only."""
    before = [d for d, n in enumerate(here) if n != 1 or layout.tile_of(d) != 1]
    after = [d for d, n in enumerate(there) if n != 1]
    if [here[d] for d in before] != [there[d] for d in after]:
        return None
    return dict(zip(before, after, strict=True))


def _padded_dims(
    layout: Layout, here: tuple[int, ...], there: tuple[int, ...]
) -> dict[int, int] | None:
    """By dim of ``there`` the padded dim of ``here`` that it is; None where one is missing."""
    found: dict[int, int] = {}
    behind = [math.prod(there[d + 1 :]) for d in range(len(there))]
    for d, n in enumerate(layout.padded_shape(here)):
        if n == here[d]:
            continue
        same = [
            e
            for e, size in enumerate(there)
            if e not in found and size == here[d] and behind[e] == math.prod(here[d + 1 :])
        ]
        if not same:
            return None
        found[same[0]] = d
    return found
