"""Which rewrite rules are proved, on which graphs: what a rule claims, it has to have here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from layoutopt.ir.graph import Graph
from tests.proofs import graphs, margins, repeats
from tests.proofs.paths import Paths

Case = Callable[[Paths], Graph]
"""A graph whose first output is made by the op to rewrite."""


@dataclass(frozen=True)
class Proof:
    """``over``: the graphs, in words. ``named_by``: where a sum may leave out products by zero, the
    factor whose elements name the products."""

    over: str
    cases: tuple[Case, ...]
    named_by: tuple[int, ...] = ()

    @property
    def pairs(self) -> Iterator[tuple[Case, int | None]]:
        """Each case, with the factor that names its products."""
        names = self.named_by or (None,) * len(self.cases)
        return zip(self.cases, names, strict=True)


def _convolutions(*windows: tuple[graphs.Window, ...]) -> tuple[Case, ...]:
    return tuple(
        partial(graphs.convolution, windows=w, channels_last=last, goes_on=goes_on)
        for w, (last, goes_on) in itertools.product(windows, ((False, True), (True, False)))
    )


_INTERIOR_PADDINGS: tuple[graphs.InteriorPadding, ...] = (
    (2, 1, 0, "scatter"),
    (2, 0, 1, "insert"),
    (3, 1, 2, "pad"),
)


def _interior_padded(*cases: tuple[tuple[int, int, int], int]) -> tuple[Case, ...]:
    return tuple(
        partial(
            graphs.interior_padded_convolution,
            window=w,
            interior_padding=_INTERIOR_PADDINGS[s],
            goes_on=s == 1,
        )
        for w, s in cases
    )


_PHASES = _interior_padded(
    ((2, 1, 1), 2), ((3, 1, 1), 1), ((3, 1, 2), 0), ((3, 2, 1), 0), ((4, 3, 1), 1)
)
_POINTS = _interior_padded(
    ((1, 1, 1), 0), ((1, 1, 1), 2), ((1, 2, 1), 1), ((1, 2, 1), 2), ((1, 3, 1), 1)
)
_GRADIENTS: tuple[Case, ...] = tuple(
    partial(graphs.weight_gradient, window=w, interior_padding=s)
    for w, s in zip(
        ((1, 1, 1), (3, 1, 1), (2, 2, 1), (2, 1, 2)),
        (*_INTERIOR_PADDINGS, _INTERIOR_PADDINGS[0]),
        strict=True,
    )
)
_SWAPPED = partial(
    graphs.interior_padded_convolution,
    window=(3, 1, 1),
    interior_padding=(2, 1, 0, "scatter"),
    swapped=True,
)
_KINDS = ("own", "twice", "bias", "row", "residual", "turned residual", "math")

PROOFS: dict[str, Proof] = {
    "unit-filter-to-contraction": Proof(
        "filters of one element along one or two dims; any sizes, margins, strides",
        _convolutions(((1, None, 1),), ((1, None, 1), (1, None, 2))),
    ),
    "drop-padding-taps": Proof(
        "one dim, three windows of 2 and 3 taps, strides of 1 to 3, dilations of 1 and 2; any "
        "sizes and margins",
        tuple(
            partial(margins.padded_convolution, window=w) for w in ((2, 1, 1), (2, 3, 2), (3, 2, 1))
        ),
        (1,) * 3,
    ),
    "strided-unit-filter-to-slice": Proof(
        "filters of one element along one or two dims; any sizes, margins, strides",
        _convolutions(((1, None, 1),), ((1, None, 1), (1, None, 2))),
    ),
    "patch-convolution-to-contraction": Proof(
        "filters and strides of 1 to 4 along one or two dims; any sizes and margins",
        _convolutions(((2, 2, 1),), ((2, 2, 1), (3, 3, 1)), ((4, 4, 1), (1, 1, 1))),
    ),
    "convolution-to-im2col": Proof(
        "one or two dims, dilations of 1 and 2; any sizes, margins, filters, strides",
        _convolutions(((None, None, 1),), ((None, None, 1), (None, None, 2))),
    ),
    "unroll-window": Proof(
        "nine poolings and depthwise convolutions with filters and strides of 2 and 3, dilations "
        "of 1 and 2; any sizes and margins",
        (
            *(
                partial(graphs.convolution, windows=w, depthwise=True)
                for w in (((2, 2, 1),), ((3, 2, 1),), ((2, 3, 2), (3, 2, 1)))
            ),
            *(
                partial(graphs.pooling, window=w, combiner=c)
                for w, c in itertools.product(
                    ((2, 2, 1), (3, 2, 1), (3, 3, 2)), ("arith.maximumf", "arith.addf")
                )
            ),
        ),
    ),
    "insert-to-scatter": Proof(
        "strides of 2 to 4; any sizes and offsets",
        tuple(partial(graphs.inserted, stride=s) for s in (2, 3, 4)),
    ),
    "commute-scatter-with-contraction": Proof(
        "one scattered dim, five pairs of its stride (2, 3) and that of the reading (1 to 3); "
        "any sizes",
        _POINTS,
        (1,) * len(_POINTS),
    ),
    "split-reduction-into-phases": Proof(
        "one scattered dim, four pairs of its stride (2, 3) and a filter (1 to 3 taps, strides and "
        "dilations of 1 and 2); any sizes",
        _GRADIENTS,
        (0,) * len(_GRADIENTS),
    ),
    "split-convolution-into-phases": Proof(
        "one scattered dim, six pairs of its stride (2, 3) and a filter (2 to 4 taps, strides of "
        "1 to 3, dilations of 1 and 2); any sizes",
        (*_PHASES, _SWAPPED),
        (*(1,) * len(_PHASES), 0),
    ),
    "push-scatter-through-elementwise": Proof(
        "one scattered dim of two, one source with stride 3 or both phases of stride 2; any "
        "sizes and offsets",
        tuple(
            partial(graphs.scatter_consumer, stride=2 if p else 3, phases=p, kind=k, turned=t)
            for p, k, t in (
                *itertools.product((False, True), _KINDS, (True,)),
                (True, "own", False),
            )
        ),
    ),
    "push-scatter-through-reshape": Proof(
        "one scattered dim with stride 2 or 3, dims beside it merged, split and added; any "
        "sizes and offsets",
        tuple(
            partial(graphs.reshaped_scatter, stride=s, phases=p, way=w)
            for s, p, w in itertools.product((2, 3), (False, True), ("merge", "split", "unit"))
        ),
    ),
    "fold-reshape-by-expansion": Proof(
        "contractions, and elementwise ops behind them, whose batches, rows, columns or all of "
        "them are split in two; any sizes",
        tuple(
            partial(graphs.expanded_contraction, split=s, goes_on=g, negated=n)
            for s, g, n in itertools.product(("b", "m", "n", "bmn"), (False, True), (False, True))
        ),
    ),
    "share-repeated-operand": Proof(
        "batch matmuls that repeat an operand along batches or rows, each element or all of them "
        "several times, transposed behind that or not; any sizes",
        tuple(
            partial(repeats.repeated_operand, along=a, first=f, turned=t)
            for a, f, t in itertools.product("bm", (False, True), (False, True))
        ),
    ),
    "bubble-up-slice": Proof(
        "matmuls, convolutions, elementwise ops and copies, slices with strides (1, 2) and "
        "(3, 1); any sizes and offsets",
        tuple(
            partial(graphs.sliced_op, kind=k, strides=s)
            for k, s in itertools.product(
                ("matmul", "convolution", "elementwise", "copy"), ((1, 2), (3, 1))
            )
        ),
    ),
    "fold-slice-of-scatter": Proof(
        "strides of 1 to 4 of the slice and of 2 and 3 of the scatter; any sizes and offsets",
        tuple(
            partial(graphs.sliced_scatter, held=h, kept=k, phases=p)
            for h, k, p in itertools.product((2, 3), (1, 2, 3, 4), (False, True))
        ),
    ),
    "scatter-to-index-arithmetic": Proof(
        "strides of 1 to 4 and 8, as it is written; any sizes and offsets",
        tuple(
            partial(graphs.one_scatter, stride=s, phases=p)
            for s, p in ((1, False), (2, True), (3, True), (4, True), (4, False), (8, False))
        ),
    ),
    "pad-to-index-arithmetic": Proof(
        "two dims, as it is written; any sizes and widths", (graphs.padded,)
    ),
}
