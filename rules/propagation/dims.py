"""What the ops that move whole dims share: pad, slice, insert, concat.

They treat every dim apart, so a layout passes through unchanged as long as a tiled dim is
moved by whole tiles. The last tile of a dim may be a padded one where it is the last one on both
sides; all that goes into the result has to meet the padding contract of the result.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from layoutopt.ir.layout import Layout, fills
from layoutopt.ir.refusal import Assignment
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType


def in_tiles(values: Sequence[int], layout: Layout, inner: int) -> tuple[int, ...]:
    """One number per physical dim: the outer dims in units of tiles, the inner ones ``inner``."""
    outer = (values[d] // layout.tile_of(d) for d in layout.outer_dims_perm)
    return (*outer, *(inner for _ in layout.inner_tiles))


def ragged(layout: Layout, *amounts: Sequence[int]) -> int | None:
    """The first tiled dim along which some amount is not whole tiles."""
    for d in layout.inner_dims_pos:
        if any(values[d] % layout.tile_of(d) != 0 for values in amounts):
            return d
    return None


def cut_tile(
    layout: Layout, whole: Sequence[int], offsets: Sequence[int], sizes: Sequence[int]
) -> int | None:
    """The first tiled dim along which a part ends neither with a tile nor with the tensor."""
    for d in layout.inner_dims_pos:
        tile = layout.tile_of(d)
        if offsets[d] % tile != 0 or (sizes[d] % tile != 0 and offsets[d] + sizes[d] != whole[d]):
            return d
    return None


def whole_tiles(layout: Layout, shape: Sequence[int]) -> frozenset[int]:
    """The dims that are one tile of their own size."""
    return frozenset(
        d
        for d in layout.inner_dims_pos
        if not isinstance(shape[d], Size) and layout.tile_of(d) == shape[d]
    )


def with_whole_tiles(
    layout: Layout, here: Sequence[int], there: Sequence[int], dims: Collection[int] | None = None
) -> Layout:
    """The layout of a tensor of another shape: what is one tile here is one there.

    ``dims``: those that this is said of, all by default.
    """
    whole = whole_tiles(layout, here)
    chosen = whole if dims is None else whole.intersection(dims)
    tiles = (
        there[d] if d in chosen and not isinstance(there[d], Size) else layout.tile_of(d)
        for d in layout.inner_dims_pos
    )
    return replace(layout, inner_tiles=tuple(tiles))


def same_places(layouts: Assignment, tensors: Sequence[int]) -> bool:
    """Whether the tensors lie in one layout; their padding may differ."""
    return len({layouts[t].padded_with(layouts[tensors[0]].padding) for t in tensors}) == 1


def keeps_padding(
    layouts: Assignment, types: Sequence[TensorType], sources: Sequence[int], result: int
) -> bool:
    """Whether the padding that comes with the sources meets the padding contract of the result."""
    padded = [t for t in sources if layouts[t].pads(types[t].shape)]
    return not layouts[result].pads(types[result].shape) or all(
        fills(layouts[t], layouts[result]) for t in padded
    )
