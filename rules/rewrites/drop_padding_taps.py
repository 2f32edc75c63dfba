"""Taps of a filter that never meet the image, but only the zeros around it, are left out.

    conv(pad(x, low), w)   ->   conv(pad(x, low - d * first), w[first : last + 1])

Tap k of a window with stride s and dilation d reads ``s * i + d * k`` of the padded image for each
output i. Where all of these are in the margin, every product of the tap is by zero. So are most
taps of filters that are dilated by as much as the image is wide (a 3x3 filter is a 1x1 filter
there), and of those that are wider than a small image. Assumes no Inf or NaN in w: 0 * x = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.graph import Fill, FromTensor, Graph, Pad
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.examples import padded_convolution_example
from layoutopt.rules.rewrites.interior_padding import typed, zero_pad
from layoutopt.rules.rewrites.loops import Progression, Replacement, Rewriting, restricted
from layoutopt.rules.rewrites.window import Convolution, Window, convolution
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class PaddedConvolution:
    """A convolution of an image among zeros, and the taps that meet it along each window."""

    convolution: Convolution
    pad: Pad
    taps: tuple[Progression, ...]
    """In the order of the windows; of size zero or less where no tap meets the image."""


class DropPaddingTaps:
    """Filters that reach farther than their image."""

    name = "drop-padding-taps"
    summary = "convolution of a padded image -> one without the taps that read padding alone"
    argument = "the sum keeps all products but those of taps whose every element is a zero"
    evidence = Evidence.PROVED
    exactness = Exactness.ASSUMES_FINITE
    canonicalizes = True
    examples = (
        Example(padded_convolution_example(filter_size=3, dilation=4, margin=4), 1),
        Example(padded_convolution_example(filter_size=5, dilation=1, margin=2, image=2), 1),
        Example(
            padded_convolution_example(filter_size=3, dilation=1, margin=6, image=2, outputs=3),
            1,
            refusal="expected a tap that reads the image along dim 2, but all read padding",
        ),
    )

    def match(self, graph: Graph, op: int) -> PaddedConvolution | None:
        """A convolution of a tensor among zeros, some tap of which reads nothing else."""
        found = convolution(graph, op)
        pad = None if found is None else zero_pad(graph, found.image)
        if found is None or pad is None or not isinstance(found.op.inits[0], Fill | FromTensor):
            return None
        shape = graph.types[pad.source].shape
        taps = tuple(_meeting(found, w, pad.low[w.axis], shape[w.axis]) for w in found.windows)
        sizes = zip(found.windows, taps, strict=True)
        if all(met.size == found.filter_size(w) for w, met in sizes):
            return None
        return PaddedConvolution(found, pad, taps)

    def guard(self, match: PaddedConvolution) -> Refusal | None:
        """There is something to compute."""
        for w, met in zip(match.convolution.windows, match.taps, strict=True):
            if met.size < 1:
                return Refusal(
                    f"expected a tap that reads the image along dim {w.axis}, but all read padding"
                )
        return None

    def rewrite(self, graph: Graph, match: PaddedConvolution) -> Expression:
        """Convolve with the taps that stay."""
        op, pad = match.convolution.op, match.pad
        rewriting = Rewriting(graph.types)
        windows = match.convolution.windows
        taps = {w.filter: met for w, met in zip(windows, match.taps, strict=True)}
        ahead = {w.axis: w.dilation * taps[w.filter].start for w in windows}
        forms = tuple(
            replace(form, offset=form.offset - low + ahead.get(axis, 0))
            for axis, (form, low) in enumerate(zip(op.source_maps[0], pad.low, strict=True))
        )
        element = graph.types[pad.source].element
        image = Replacement(pad.source, forms, typed(pad.value, element))
        restricted(op, taps, rewriting, op.results[0], {0: image})
        return Expression(tuple(rewriting.builder.types), tuple(rewriting.builder.ops))


def _meeting(found: Convolution, window: Window, low: int, size: int) -> Progression:
    """The taps from the first to the last one that meet an image behind ``low`` zeros."""
    reach = window.stride * (found.image_size(window) - 1)
    first = max(0, -((reach - low) // window.dilation))
    last = min(found.filter_size(window) - 1, (low + size - 1) // window.dilation)
    return Progression(first, 1, last - first + 1)
