"""What the ops that move whole dims share: pad, slice, insert, concat.

They treat every dim apart, so a layout passes through unchanged as long as a tiled dim is
moved by whole tiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.graph import Insert, Slice
from layoutopt.layout import Layout
from layoutopt.rules.rule import Refusal


def in_tiles(values: Sequence[int], layout: Layout, inner: int) -> tuple[int, ...]:
    """One number per physical dim: the outer dims in units of tiles, the inner ones ``inner``."""
    outer = (values[d] // layout.tile_of(d) for d in layout.outer_dims_perm)
    return (*outer, *(inner for _ in layout.inner_tiles))


def ragged(layout: Layout, *amounts: Sequence[int]) -> int | None:
    """The first tiled dim along which some amount is not whole tiles."""
    for d in layout.inner_dims_pos:
        if any(values[d] % layout.tile_of(d) for values in amounts):
            return d
    return None


def in_whole_tiles(
    what: str, op: Slice | Insert, layout: Layout, part: Sequence[int], whole: Sequence[int]
) -> Refusal | None:
    """Why a slice or insert of shape ``part`` cuts tiles of ``whole``; None where it does not."""
    dim = ragged(layout, part, whole, op.offsets)
    strided = [d for d in layout.inner_dims_pos if op.strides[d] != 1]
    if dim is None and not strided:
        return None
    at = strided[0] if dim is None else dim
    return Refusal(
        f"expected {what} of whole tiles of {layout.tile_of(at)} along dim {at}, "
        f"but got offset {op.offsets[at]} size {part[at]} stride {op.strides[at]}"
    )


def physical_strides(strides: Sequence[int], layout: Layout) -> tuple[int, ...]:
    """One stride per physical dim; inner dims are taken whole."""
    return (*(strides[d] for d in layout.outer_dims_perm), *(1 for _ in layout.inner_tiles))
