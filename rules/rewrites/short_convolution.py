"""Where a convolution has a short form: which tiles, and what stands in the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

from layoutopt.ir.graph import (
    Fill,
    Graph,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.interior_padding import is_zero
from layoutopt.rules.rewrites.toom_cook import LARGEST, ToomCook, toom_cook
from layoutopt.rules.rewrites.window import Convolution, convolution

_PRODUCTS = LARGEST**2
"""Contractions at most: more of them are too small to be fast."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """A convolution with a short form for each of its windows, in the image's order."""

    convolution: Convolution
    forms: tuple[ToomCook, ...]
    elements: tuple[str, ...]

    @property
    def tiles(self) -> tuple[int, ...]:
        """How many tiles there are along each window."""
        found = self.convolution
        return tuple(
            -(-found.image_size(w) // f.tile)
            for w, f in zip(found.windows, self.forms, strict=True)
        )


def tiling(graph: Graph, index: int, tile: int) -> Tiling | None:
    """The convolution of op ``index`` in tiles of ``tile`` outputs along each window."""
    found = convolution(graph, index)
    if found is None or found.has_unit_filter:
        return None
    taps = [found.filter_size(w) for w in found.windows]
    tiles = [tile if r > 1 else 1 for r in taps]
    if any(m + r - 1 > LARGEST for m, r in zip(tiles, taps, strict=True)):
        return None
    forms = tuple(map(toom_cook, tiles, taps))
    if math.prod(f.products for f in forms) > _PRODUCTS:
        return None
    op = found.op
    elements = tuple(graph.types[t].element for t in (*op.sources, *op.results))
    return Tiling(found, forms, elements)


def refusal_of(match: Tiling) -> Refusal | None:
    """Windows one apart, channels to sum over, and numbers that bear the transforms' rounding."""
    found = match.convolution
    steps = {(w.stride, w.dilation) for w in found.windows}
    if steps != {(1, 1)}:
        stride, dilation = next(s for s in sorted(steps) if s != (1, 1))
        return Refusal(
            f"expected windows one element apart, but got stride {stride} and dilation {dilation}"
        )
    if len(set(match.elements)) > 1 or match.elements[0] not in ("f32", "f64"):
        return Refusal(
            "expected f32 or f64 throughout, for transformed tiles lose digits, but got "
            f"{', '.join(match.elements)}"
        )
    if set(found.op.reduction_dims) == {w.filter for w in found.windows}:
        return Refusal(
            "expected channels to be summed over, so that products are shared, but every "
            "channel has its own filter"
        )
    shared = {d for form in found.op.source_maps[1] for d in form.dims}
    own = next((w.image for w in found.windows if w.image in shared), None)
    if own is not None:
        return Refusal(
            "expected one filter for the whole image, but each place along the output image loop "
            f"d{own} has its own"
        )
    init = found.op.inits[0]
    if not isinstance(init, Fill) or not is_zero(init.value, match.elements[2]):
        return Refusal("expected a sum that starts from zero, but it goes on from another value")
    return None
