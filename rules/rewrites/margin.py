"""The margin of zeros around a filter that makes it one of a larger convolution."""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.affine import Affine, plain_dims
from layoutopt.ir.graph import Graph, Pad, Structured
from layoutopt.rules.rewrites.interior_padding import zero_pad
from layoutopt.rules.rewrites.window import Convolution


@dataclass(frozen=True, slots=True)
class Margin:
    """Zeros around a filter, elements for each of its dims, and those around the image."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    image: Pad | None
    """None where the larger convolution has none."""


def margin(graph: Graph, small: Convolution, large: Convolution) -> Margin | None:
    """Zeros around the smaller filter with which it convolves the larger one's image.

    Both read one image, with as many zeros around it as their filters want. None where no margin
    does, or none is wanted.
    """
    one, other = small.op, large.op
    if (one.iterators, one.maps[1:], one.body) != (other.iterators, other.maps[1:], other.body):
        return None
    if [w.axis for w in small.windows] != [w.axis for w in large.windows]:
        return None
    ahead: dict[int, tuple[int, int]] = {}
    pads = [zero_pad(graph, found.image) for found in (small, large)]
    source = [
        found.image if pad is None else pad.source
        for found, pad in zip((small, large), pads, strict=True)
    ]
    lows = [(0,) * len(one.source_maps[0]) if pad is None else pad.low for pad in pads]
    if source[0] != source[1]:
        return None
    for mine, wider in zip(small.windows, large.windows, strict=True):
        sizes = small.filter_size(mine), large.filter_size(wider)
        same = (mine.image, mine.filter, mine.stride) == (wider.image, wider.filter, wider.stride)
        if not same or (sizes[0] > 1 and mine.dilation != wider.dilation):
            return None
        low, rest = divmod(lows[1][wider.axis] - lows[0][mine.axis], wider.dilation)
        high = sizes[1] - sizes[0] - low
        if rest or low < 0 or high < 0:
            return None
        ahead[mine.filter] = (low, high)
    filters = {w.filter for w in small.windows}
    if not any(map(any, ahead.values())) or any(
        n != m for d, (n, m) in enumerate(zip(one.domain, other.domain, strict=True))
        if d not in filters
    ):  # fmt: skip
        return None
    plain = [d for d in range(len(one.source_maps[0])) if d not in {w.axis for w in small.windows}]
    if any(_elsewhere(one, other, axis) or lows[0][axis] != lows[1][axis] for axis in plain):
        return None
    loops = plain_dims(one.source_maps[1])
    assert loops is not None  # of a convolution
    margins = [ahead.get(d, (0, 0)) for d in loops]
    return Margin(tuple(low for low, _ in margins), tuple(high for _, high in margins), pads[1])


def _elsewhere(one: Structured, other: Structured, axis: int) -> bool:
    """Whether two convolutions read a dim of the image along other loops."""
    forms: tuple[Affine, Affine] = (one.source_maps[0][axis], other.source_maps[0][axis])
    return forms[0] != forms[1]
