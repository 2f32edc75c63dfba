"""Layouts through a gather of rows: the table's dims keep theirs, the looked-up dim has no tile.

    gather(w:L, i) -> y:L'     where L' orders and tiles y's dims as L does those of w

A dim that only one side tiles is split by a reshape, which moves nothing; so are the indices where
y tiles a dim that counts them. Those are whole tiles, since an index in the padding would point
anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.graph import Gather, Reshape
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation.dims import keeps_padding


class GatherLayouts:
    """The propagation rule of a gather."""

    name = "gather-layouts"

    def propagate(
        self, op: Gather, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """The table and the result share the layout of the dims that they share."""
        plain = row_major(len(types[op.indices].shape))
        if tensor == op.result:
            found = {op.result: layout, op.table: _of_table(op, layout), op.indices: plain}
        elif tensor == op.table:
            found = {op.result: _of_result(op, layout, types), op.table: layout, op.indices: plain}
        else:
            found = {t: row_major(len(types[t].shape)) for t in (op.table, op.result)}
            found[op.indices] = layout
        return _refusal(op, found, types) or found

    def relayout(self, op: Gather, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Gather from the memory form."""
        refusal = _refusal(op, layouts, physical.types)
        if refusal:
            return refusal
        tiles = _tiles(op, layouts)
        table, result = (
            _parts(layouts[t], dims, tiles)
            for t, dims in (
                (op.table, op.table_dims),
                (op.result, tuple(range(layouts[op.result].rank))),
            )
        )
        indices = [(d, part) for d in op.index_dims for part in ((0, 1) if d in tiles else (0,))]
        place = {part: i for i, part in enumerate(result)}
        rows = _read(op.table, table, layouts, physical, op, tiles)
        numbers = _read(op.indices, indices, layouts, physical, op, tiles)
        made = _written(result, layouts, physical, op, tiles)
        index_dims = tuple(place[part] for part in indices)
        table_dims = tuple(None if part is None else place[part] for part in table)
        physical.builder.add(Gather(rows, numbers, made, index_dims, table_dims))
        whole = physical.tensor(op.result, layouts[op.result])
        if made != whole:
            physical.builder.add(Reshape(made, whole))
        return None


Part = tuple[int, int] | None
"""A dim of the result, and whether its tiles (0) or what is inside of one (1); None: looked up."""


def _tiles(op: Gather, layouts: Assignment) -> dict[int, int]:
    """The tile of each dim of the result that the result or the table tiles."""
    table, result = layouts[op.table], layouts[op.result]
    found = {_shared(op, t): table.tile_of(t) for t in table.inner_dims_pos}
    return found | {d: result.tile_of(d) for d in result.inner_dims_pos}


def _parts(layout: Layout, dims: tuple[int | None, ...], tiles: dict[int, int]) -> list[Part]:
    """The parts in the order of memory; a dim that only the other side tiles is split in place."""
    found: list[Part] = []
    for d in layout.outer_dims_perm:
        shared = dims[d]
        if shared is None:
            found.append(None)
            continue
        found.append((shared, 0))
        if shared in tiles and d not in layout.inner_dims_pos:
            found.append((shared, 1))
    for d in layout.inner_dims_pos:
        shared = dims[d]
        found.append(None if shared is None else (shared, 1))
    return found


def _read(
    tensor: int,
    parts: Sequence[Part],
    layouts: Assignment,
    physical: Physical,
    op: Gather,
    tiles: dict[int, int],
) -> int:
    """The tensor as these parts: splitting a dim is a reshape and moves nothing."""
    place = physical.tensor(tensor, layouts[tensor])
    kind = layouts[tensor].physical_type(physical.types[tensor])
    if len(parts) == len(kind.shape):
        return place
    rows = physical.types[op.table].shape[op.axis]
    made = physical.builder.tensor(
        (rows if part is None else _size(part, physical, op, tiles) for part in parts),
        kind.element,
    )
    physical.builder.add(Reshape(place, made))
    return made


def _written(
    parts: Sequence[Part],
    layouts: Assignment,
    physical: Physical,
    op: Gather,
    tiles: dict[int, int],
) -> int:
    kind = layouts[op.result].physical_type(physical.types[op.result])
    if len(parts) == len(kind.shape):
        return physical.tensor(op.result, layouts[op.result])
    sizes = (_size(part, physical, op, tiles) for part in parts if part is not None)
    return physical.builder.tensor(sizes, kind.element)


def _size(part: tuple[int, int], physical: Physical, op: Gather, tiles: dict[int, int]) -> int:
    dim, inside = part
    tile = tiles.get(dim, 1)
    return tile if inside else -(-physical.types[op.result].shape[dim] // tile)


def _shared(op: Gather, dim: int) -> int:
    """The dim of the result that a tiled dim of the table is."""
    found = op.table_dims[dim]
    assert found is not None
    return found


def _of_table(op: Gather, result: Layout) -> Layout:
    """The looked-up dim first, so that a row lies together, then the others as in the result."""
    number = {d: t for t, d in enumerate(op.table_dims) if d is not None}
    outer = [op.axis, *(number[d] for d in result.outer_dims_perm if d in number)]
    inner = [d for d in result.inner_dims_pos if d in number]
    return Layout(
        tuple(outer),
        tuple(number[d] for d in inner),
        tuple(map(result.tile_of, inner)),
        result.padding,
    )


def _of_result(op: Gather, table: Layout, types: tuple[TensorType, ...]) -> Layout:
    """Dims that only count indices where they are, the others in the order of the table's."""
    shared = [d for t in table.outer_dims_perm if (d := op.table_dims[t]) is not None]
    ordered = iter(shared)
    outer = [next(ordered) if d in shared else d for d in range(len(types[op.result].shape))]
    inner = [d for d in table.inner_dims_pos if op.table_dims[d] is not None]
    return Layout(
        tuple(outer),
        tuple(_shared(op, d) for d in inner),
        tuple(map(table.tile_of, inner)),
        table.padding,
    )


def _refusal(op: Gather, layouts: Assignment, types: tuple[TensorType, ...]) -> Refusal | None:
    table, result = layouts[op.table], layouts[op.result]
    if not layouts[op.indices].is_row_major:
        return Refusal(f"expected row-major indices, but got {layouts[op.indices]}")
    if op.axis in table.inner_dims_pos:
        return Refusal(f"expected no tile of the dim that is looked up, but got {table}")
    for d in result.inner_dims_pos:
        size = types[op.result].shape[d]
        if d in op.index_dims and size % result.tile_of(d) != 0:
            return Refusal(
                f"expected indices in whole tiles of {result.tile_of(d)}, but got {size} of them"
            )
    for t, shared in enumerate(op.table_dims):
        if shared is None:
            continue
        sizes = table.tile_of(t), result.tile_of(shared)
        counts = types[op.table].shape[t], types[op.result].shape[shared]
        if counts[0] != counts[1] and max(sizes) > 1:
            return Refusal(
                f"expected whole rows where they are tiled, but {counts[1]} of {counts[0]} are read"
            )
        both = t in table.inner_dims_pos and shared in result.inner_dims_pos
        ragged = any(types[op.table].shape[t] % size for size in sizes)
        if sizes[0] != sizes[1] and (both or ragged):
            return Refusal(
                f"expected one tile in table and result, but got {sizes[0]} and {sizes[1]}"
            )
    if not keeps_padding(layouts, types, (op.table,), op.result):
        return Refusal(f"expected a table with {result.padding.value} in its padding")
    return None
