"""Where a convolution has a short form: which tiles, and what stands in the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

from layoutopt.ir.graph import (
    Fill,
    Graph,
)
from layoutopt.ir.minimal_filtering import MinimalFiltering
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.interior_padding import is_zero
from layoutopt.rules.rewrites.toom_cook import toom_cook
from layoutopt.rules.rewrites.window import Convolution, convolution
from layoutopt.rules.rule import over_budget

_FEW = 6
"""Products along a window that rounding bears in tiles of any size."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """A convolution with a short form for each of its windows, in the image's order."""

    convolution: Convolution
    outputs: tuple[int, ...]
    """Outputs of a tile along each window."""
    elements: tuple[str, ...]

    @property
    def products(self) -> tuple[int, ...]:
        """Multiplications along each window."""
        taps = map(self.convolution.filter_size, self.convolution.windows)
        return tuple(m + r - 1 for m, r in zip(self.outputs, taps, strict=True))

    @property
    def most_products(self) -> int:
        """Multiplications along a window at most: of three taps, or of more in small tiles."""
        return max(_FEW, max(self.outputs) + 2)

    @property
    def forms(self) -> tuple[MinimalFiltering, ...]:
        """The matrices; there are none beyond the largest number of multiplications."""
        taps = map(self.convolution.filter_size, self.convolution.windows)
        return tuple(map(toom_cook, self.outputs, taps))

    @property
    def tiles(self) -> tuple[int, ...]:
        """How many tiles there are along each window."""
        found = self.convolution
        return tuple(
            -(-found.image_size(w) // m) for w, m in zip(found.windows, self.outputs, strict=True)
        )


def tiling(graph: Graph, index: int, tile: int) -> Tiling | None:
    """The convolution of op ``index`` in tiles of ``tile`` outputs along each window."""
    found = convolution(graph, index)
    if found is None or found.has_unit_filter:
        return None
    outputs = tuple(tile if found.filter_size(w) > 1 else 1 for w in found.windows)
    op = found.op
    elements = tuple(graph.types[t].element for t in (*op.sources, *op.results))
    return Tiling(found, outputs, elements)


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
            "expected channels to be summed over, for each product is a contraction over them, "
            "but every channel has its own filter"
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
        return Refusal("expected a sum with init zero, but its init is another value")
    largest, count, most = max(match.products), math.prod(match.products), match.most_products
    return over_budget(
        largest, most, "products along a window", "points that keep rounding small"
    ) or over_budget(count, most**2, "products", "contractions in place of one")
