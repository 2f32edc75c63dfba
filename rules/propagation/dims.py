"""What the ops that move whole dims share: pad, slice, insert, concat.

They treat every dim apart, so a layout passes through unchanged as long as a tiled dim is
moved by whole tiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.layout import Layout


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
