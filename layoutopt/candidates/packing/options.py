"""Packed forms of contractions: which tiled layouts their operands may take together.

A contraction is packed by tiling loops that stand alone in the maps: one of m, one of n, one of
k (of a depthwise convolution: one batch loop, its channels). The tiles go innermost, in the order
of the loops outside, and that is one of a few. Like upstream's ``pack_greedily`` it serves every
op that multiplies and adds up, named or generic; here each order is a choice, since the outer
order of one op has to suit its neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.candidates.packing.custom import checked, meets, patterned
from layoutopt.candidates.packing.tiling import (
    Fit,
    Loops,
    Packing,
    PackingRule,
    fits,
    ordered,
    padding_variants,
    plain_loops,
    tiled,
    tiled_layout,
)
from layoutopt.candidates.packing.whole_rows import whole_rows
from layoutopt.candidates.packing.whole_subgroups import whole_columns
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.affine import IndexMap
from layoutopt.ir.graph import Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.roles import Roles, is_windowed, roles
from layoutopt.ir.size import planned
from layoutopt.ir.types import TensorType
from layoutopt.profiles.op_pattern import OpPattern
from layoutopt.profiles.target import Tile


@dataclass(frozen=True, slots=True)
class PackingOptions:
    """What packed contractions may look like on a target."""

    tiles: Mapping[str, tuple[Tile, ...]] = field(default_factory=dict)
    """Tiles by element type of the contraction's inputs."""
    custom: PackingRule | None = None
    patterns: tuple[OpPattern, ...] = ()
    """Packings of the contractions that meet some conditions."""
    given: Mapping[str, tuple[Tile, ...]] = field(default_factory=dict)
    """Tiles that the model came with, in the same way."""
    whole_rows: bool = False
    """Whether open sizes are padded to whole tiles that stay where they are."""
    image_rows: bool = False
    """Whether tiles with a microkernel serve contractions whose rows are several loops too."""
    registers: VectorRegisters | None = None
    """By which packed generics get a tile of registers, the columns of their weights last; None
    where the compiler chooses it."""
    subgroup: int = 0
    """Lanes that a reduction is spread over where they divide its rows; 0 where nothing is."""
    lanes: int = 0
    """Elements of whole vectors, which rows of open size are padded to where a CPU reduces them; 0
    where rows stay as they are."""
    bytes_in_panels: bool = False
    """Whether weights of bytes may lie in panels, whose depths others are padded to."""
    panel: int | None = None
    """Columns of a panel of weights, which others are padded to; None where the compiler chooses
    tiles."""


def packings(
    op: Structured,
    types: tuple[TensorType, ...],
    options: PackingOptions,
    constant_rhs: bool,
    name: str = "",
) -> tuple[Packing, ...]:
    """The packed forms of a contraction, each once: the user's own, then those of the options.

    ``constant_rhs``: the second input is a weight and takes the layout that suits the op.
    ``name``: of the op in the report.
    """
    found: dict[Packing, None] = {}
    for packing in options.custom(op, types) if options.custom is not None else ():
        found |= dict.fromkeys(
            padding_variants(checked(packing, op, types), op, types, constant_rhs)
        )
    matching = [p for p in options.patterns if meets(p, op, types, name)]
    for pattern in matching:
        for packing in patterned(pattern, op, types):
            found |= dict.fromkeys(padding_variants(packing, op, types, constant_rhs))
    element = types[op.sources[0]].element
    own, given = (table.get(element, ()) for table in (options.tiles, options.given))
    tiles = tuple(dict.fromkeys((*_suited(op, own), *given)))
    if any(p.only for p in matching):
        tiles = ()
    opened = whole_rows(op, types) if options.whole_rows else ()
    columns = whole_columns(op, types, options.subgroup) if options.subgroup else ()
    for packing in (
        *_of_tiles(op, types, tiles, constant_rhs, options),
        *opened,
        *columns,
    ):
        found |= dict.fromkeys(padding_variants(packing, op, types, constant_rhs))
    return tuple(found)


def _of_tiles(
    op: Structured,
    types: tuple[TensorType, ...],
    tiles: Sequence[Tile],
    constant_rhs: bool,
    options: PackingOptions,
) -> Iterator[Packing]:
    columns_last = constant_rhs and options.registers is not None
    tensors = (*op.sources, op.results[0])
    for tile in tiles:
        for fit in fits(tile.mmt4d):
            for blocking in _blockings(op, tile, fit, options.image_rows):
                rights = blocking.rhs[:1] if constant_rhs else blocking.rhs
                for orders in itertools.product(blocking.lhs, rights, blocking.result):
                    left, right, made = (
                        _blocked(m, types[t], order, blocking.tiles)
                        for m, t, order in zip(op.maps, tensors, orders, strict=True)
                    )
                    if columns_last and not tile.mmt4d:
                        right = replace(
                            right,
                            inner_dims_pos=right.inner_dims_pos[::-1],
                            inner_tiles=right.inner_tiles[::-1],
                        )
                    yield Packing(left, right, made, tile.mmt4d)


def _suited(op: Structured, tiles: Sequence[Tile]) -> list[Tile]:
    """The tiles without those that a taller one makes needless: it is filled as well."""
    rows = max((planned(op.domain[d]) for d in roles(op).m), default=1)
    return [
        t
        for t in tiles
        if not any(
            other.m > t.m and other.m <= rows and replace(other, m=t.m) == t for other in tiles
        )
    ]


@dataclass(frozen=True, slots=True)
class _Blocking:
    """Tiled loops with their tiles, innermost last, and the outer orders to try."""

    tiles: tuple[tuple[int, int], ...]
    lhs: tuple[Loops, ...]
    rhs: tuple[Loops, ...]
    result: tuple[Loops, ...]


def _blockings(op: Structured, tile: Tile, fit: Fit, image_rows: bool) -> Iterator[_Blocking]:
    r = roles(op)
    window = (*r.k, *r.window)
    wide = [d for d in r.m if op.domain[d] != 1]
    if not tile.mmt4d and (is_windowed(op) or len(wide) > 1):
        n, k = tiled(op, r.n, tile.n, fit), tiled(op, plain_loops(op, r.k), tile.k, fit)
        channels = () if n or k else tiled(op, plain_loops(op, r.batch), tile.n, fit)
        if n or k or channels:
            yield _Blocking(
                (*channels, *n, *k),
                ((*r.batch, *r.k, *r.m),),
                ((*r.batch, *r.n, *window),),
                ((*r.batch, *r.n, *r.m),),
            )
    if not is_windowed(op) and (len(wide) <= 1 or (tile.mmt4d and image_rows)):
        m, n, k = (
            tiled(op, loops, size, fit)
            for loops, size in ((r.m, tile.m), (r.n, tile.n), (r.k, tile.k))
        )
        if m or n or k:
            yield _matmul_blocking(r, (*m, *n, *k))


def _matmul_blocking(r: Roles, tiles: tuple[tuple[int, int], ...]) -> _Blocking:
    return _Blocking(
        tiles,
        tuple(dict.fromkeys([(*r.batch, *r.m, *r.k), (*r.m, *r.batch, *r.k)])),
        tuple(
            dict.fromkeys(
                [
                    (*r.batch, *r.n, *r.k),
                    (*r.n, *r.batch, *r.k),
                    (*r.k, *r.batch, *r.n),
                    (*r.batch, *r.k, *r.n),
                ]
            )
        ),
        tuple(dict.fromkeys([(*r.batch, *r.m, *r.n), (*r.m, *r.batch, *r.n)])),
    )


def _blocked(
    index_map: IndexMap,
    kind: TensorType,
    order: Loops,
    tiles: tuple[tuple[int, int], ...],
) -> Layout:
    tile = dict(tiles)
    inner = tuple((loop, tile[loop]) for loop in order if loop in tile)
    outer = ordered(index_map, order)
    return tiled_layout(index_map, kind, outer, inner)
