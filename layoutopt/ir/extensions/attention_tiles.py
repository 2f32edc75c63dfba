"""Tiles around an attention: a loop with a tile becomes two, around every tensor that has it.

Whole tiles, as long as their dims, only say in what order elements lie. Where a tile does not
divide the columns that the softmax runs along, those of padding take no part: keys and values are
zeros there, and the mask is minus infinity. Rows of padding make rows of padding.

All functions take what an attention reads and makes in one order: queries, keys, values, a mask
where there is one, and the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType

Loops = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Operands:
    """``maps``: of each tensor the loop that each of its dims is; ``types``: their types."""

    maps: tuple[Loops, ...]
    types: tuple[TensorType, ...]

    @property
    def batch(self) -> frozenset[int]:
        """The loops of queries, keys, values and the result."""
        return frozenset.intersection(*map(frozenset, (*self.maps[:3], self.maps[-1])))

    @property
    def rows(self) -> frozenset[int]:
        """The loops that queries and the result have, and keys have not."""
        return frozenset(self.maps[0]) & frozenset(self.maps[-1]) - self.batch

    @property
    def columns(self) -> frozenset[int]:
        """The loops that the softmax runs along."""
        return frozenset(self.maps[1]) & frozenset(self.maps[2]) - self.batch

    @property
    def inner(self) -> frozenset[int]:
        """The loops that products of queries and keys are summed along."""
        return frozenset(self.maps[0]) & frozenset(self.maps[1]) - self.batch

    @property
    def mask(self) -> int | None:
        """The place of the mask."""
        return 3 if len(self.maps) > 4 else None

    def sizes(self) -> dict[int, int]:
        """Of each loop its size."""
        return {
            d: size
            for loops, kind in zip(self.maps, self.types, strict=True)
            for d, size in zip(loops, kind.shape, strict=True)
        }


def tiled_layouts(own: Operands, place: int, layout: Layout) -> tuple[Layout, ...] | Refusal:
    """The layouts of all, given a tiled one of the tensor at ``place``.

    Rows of queries stand for rows of keys and of the result, the loops of products for columns of
    values; a whole tile stays whole, another one is as long, or left out where a dim is shorter.
    """
    sizes, given = own.sizes(), own.maps[place]
    partial = _partial(given, own.types[place], layout)
    found: list[Layout] = []
    for i, loops in enumerate(own.maps):
        if i == place:
            found.append(layout)
        elif own.mask in (i, place):
            found.append(row_major(len(loops)))
        else:
            like = _like(own, given, loops)
            order = [like[given[d]] for d in layout.outer_dims_perm if given[d] in like]
            order += [d for d in loops if d not in order]
            tiles: dict[int, int] = {}
            for d in layout.inner_dims_pos:
                loop = like.get(given[d])
                if loop is None:
                    continue
                size, tile = sizes[loop], partial.get(given[d])
                if tile is None and isinstance(size, Size):
                    return Refusal(f"expected a known size for a whole tile, but got {size}")
                if tile is None or isinstance(size, Size) or size >= tile:
                    tiles[loop] = size if tile is None else tile
            found.append(_layout(loops, order, tiles))
    tiled = dict(partial)
    for i, loops in enumerate(own.maps):
        if i != own.mask:
            tiled |= _partial(loops, own.types[i], found[i])
    for i, loops in enumerate(own.maps):
        if i == own.mask and i != place:
            found[i] = _layout(loops, loops, {d: tiled[d] for d in loops if d in tiled})
    contracts = _contracts(own, found)
    return tuple(
        one if i == place or not one.pads(kind.shape) else one.padded_with(contract or Padding.ANY)
        for i, (one, kind, contract) in enumerate(zip(found, own.types, contracts, strict=True))
    )


def tile_refusal(own: Operands, layouts: Sequence[Layout]) -> Refusal | None:
    """Why an attention has no form over tensors in these layouts."""
    tiles: dict[int, int] = {}
    for loops, kind, layout in zip(own.maps, own.types, layouts, strict=True):
        partial = _partial(loops, kind, layout)
        for d in loops:
            if tiles.setdefault(d, partial.get(d, 1)) != partial.get(d, 1):
                return Refusal(f"expected one tile along a loop of attention, but got {layout} too")
    ragged = _ragged(own, layouts)
    if ragged & own.columns and (own.mask is None or not ragged & own.columns <= {*own.maps[3]}):
        return Refusal("expected a mask with dims of all columns that have padding, but got none")
    wanted = _contracts(own, layouts)
    for layout, kind, contract in zip(layouts, own.types, wanted, strict=True):
        if contract not in (None, layout.padding) and layout.pads(kind.shape):
            return Refusal(f"expected padding {contract.value} around attention, but got {layout}")
    return None


def open_without_tiles(own: Operands, layouts: Sequence[Layout]) -> Refusal | None:
    """Why rows and columns of open size have no fast kernel; None where they have one.

    Of a single row, as in decoding, IREE makes a reduction: it is fast for any number of columns.
    """
    sizes = own.sizes()
    if all(sizes[d] == 1 for d in own.rows):
        return None
    for loops, kind, layout in zip(own.maps, own.types, layouts, strict=True):
        for d, loop in enumerate(loops):
            size = kind.shape[d]
            if loop not in own.batch and isinstance(size, Size) and layout.tile_of(d) == 1:
                return Refusal(f"expected a tile along the open size {size}, but got {layout}")
    return None


def split_maps(
    own: Operands, layouts: Sequence[Layout]
) -> tuple[tuple[Loops, ...], tuple[tuple[int, ...], ...]]:
    """The maps over tensors as they lie in memory, and the shapes of these without unit dims.

    The unit dims are those outside of whole tiles, and tiles of one element.
    """
    names: list[list[tuple[int, int]]] = []
    shapes: list[tuple[int, ...]] = []
    for loops, kind, layout in zip(own.maps, own.types, layouts, strict=True):
        partial = _partial(loops, kind, layout)
        memory = layout.physical_shape(kind.shape)
        places = [(loops[d], 0) for d in layout.outer_dims_perm]
        places += [(loops[d], int(loops[d] in partial)) for d in layout.inner_dims_pos]
        whole = {loops[d] for d in layout.inner_dims_pos if layout.tile_of(d) > 1} - partial.keys()
        kept = [
            i
            for i, (d, _) in enumerate(places)
            if (d not in whole if i < layout.rank else layout.inner_tiles[i - layout.rank] > 1)
        ]
        names.append([places[i] for i in kept])
        shapes.append(tuple(memory[i] for i in kept))
    number = {name: i for i, name in enumerate(sorted({n for one in names for n in one}))}
    return tuple(tuple(number[n] for n in one) for one in names), tuple(shapes)


def _partial(loops: Loops, kind: TensorType, layout: Layout) -> dict[int, int]:
    """The tiles by loop, without those that are as long as their dims, or one element."""
    tiles = zip(layout.inner_dims_pos, layout.inner_tiles, strict=True)
    return {loops[d]: tile for d, tile in tiles if tile not in (1, kind.shape[d])}


def _ragged(own: Operands, layouts: Sequence[Layout]) -> frozenset[int]:
    """The loops with padding."""
    return frozenset(
        loops[d]
        for loops, kind, layout in zip(own.maps, own.types, layouts, strict=True)
        for d in layout.inner_dims_pos
        if kind.shape[d] % layout.tile_of(d) != 0 and 0 not in kind.shape
    )


def _contracts(own: Operands, layouts: Sequence[Layout]) -> list[Padding | None]:
    """What the padding of each has to be; None: anything."""
    ragged = _ragged(own, layouts)
    summed, weighted = bool(ragged & own.inner), bool(ragged & own.columns)
    wanted = [
        Padding.ZERO if summed else None,
        Padding.ZERO if summed or weighted else None,
        Padding.ZERO if weighted else None,
    ]
    if own.mask is not None:
        wanted.append(Padding.LOWEST if weighted else None)
    return [*wanted, Padding.ANY]


def _like(own: Operands, given: Loops, loops: Loops) -> dict[int, int]:
    """The loop of one tensor that stands for each loop of another: rows for rows, columns so."""
    found = {d: d for d in given if d in own.batch and d in loops}
    rows = own.columns | own.rows
    for part in (True, False):
        ours = [d for d in given if d not in own.batch and (d in rows) is part]
        others = [d for d in loops if d not in own.batch and (d in rows) is part]
        found |= dict(zip(ours, others, strict=False))
    return found


def _layout(loops: Loops, order: Sequence[int], tiles: dict[int, int]) -> Layout:
    return Layout(
        tuple(map(loops.index, order)), tuple(map(loops.index, tiles)), tuple(tiles.values())
    )
