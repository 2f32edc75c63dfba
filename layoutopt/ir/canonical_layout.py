"""One layout for all that put every element at the same address."""

from __future__ import annotations

from functools import lru_cache

from layoutopt.ir.layout import Layout, layout_of_runs, memory_runs


@lru_cache(maxsize=1 << 14)
def canonical(shape: tuple[int, ...], layout: Layout) -> Layout:
    """One layout for all that put every element at the same address (unit dims move freely)."""
    if not layout.pads(shape):
        return layout_of_runs(shape, memory_runs(shape, layout)) or layout
    padded = layout.padded_shape(shape)
    found = layout_of_runs(padded, memory_runs(padded, layout))
    if found is None or found.padded_shape(shape) != padded:
        found = _units_in_place(padded, layout)
    return found.padded_with(layout.padding)


def _units_in_place(padded: tuple[int, ...], layout: Layout) -> Layout:
    """The layout with outer dims of one step, and tiles of one element, where they say nothing."""
    counts = {d: padded[d] // layout.tile_of(d) for d in layout.outer_dims_perm}
    outer = [d for d in layout.outer_dims_perm if counts[d] != 1]
    for d in sorted(d for d in counts if counts[d] == 1):
        outer.insert(next((i for i, o in enumerate(outer) if o > d), len(outer)), d)
    inner = [d for d in layout.inner_dims_pos if layout.tile_of(d) != 1]
    return Layout(tuple(outer), tuple(inner), tuple(map(layout.tile_of, inner)))
