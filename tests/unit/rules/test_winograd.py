"""Short convolutions against the sums they stand for, in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from layoutopt.ir.affine import affine, dim, plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Pad, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body
from layoutopt.rules.rewrites.convolution_to_winograd_f4 import ConvolutionToWinogradF4
from layoutopt.rules.rewrites.toom_cook import LARGEST, toom_cook
from layoutopt.rules.rule import Expression, apply

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


@pytest.mark.parametrize(
    ("tile", "taps"),
    [(m, r) for m in range(1, LARGEST + 1) for r in range(1, LARGEST + 2 - m)],
)
def test_every_short_form_is_a_convolution(tile: int, taps: int) -> None:
    form = toom_cook(tile, taps)
    image = [Fraction(3 * i * i - 7, 5) for i in range(form.products)]
    weights = [Fraction(2 * k + 1, 3) for k in range(taps)]
    products = [
        sum(c * x for c, x in zip(row, image, strict=True))
        * sum(c * x for c, x in zip(line, weights, strict=True))
        for row, line in zip(form.inputs, form.filters, strict=True)
    ]
    for place, row in enumerate(form.outputs):
        wanted = sum(image[place + k] * weights[k] for k in range(taps))
        assert sum(c * p for c, p in zip(row, products, strict=True)) == wanted


def test_two_outputs_of_three_taps_are_exact_in_binary() -> None:
    assert toom_cook(2, 3).is_dyadic
    assert not toom_cook(4, 3).is_dyadic


def convolution(image: int, value: str, element: str = "f32", start: str = "0.0") -> Graph:
    """A 3x3 convolution behind a pad of one."""
    builder = GraphBuilder()
    x = builder.tensor((1, 2, image, image), element)
    wide = builder.tensor((1, 2, image + 2, image + 2), element)
    w = builder.tensor((3, 2, 3, 3), element)
    y = builder.tensor((1, 3, image, image), element)
    builder.add(Pad(x, wide, (0, 0, 1, 1), (0, 0, 1, 1), f"{value} : {element}"))
    windows = (affine([(2, 1), (5, 1)]), affine([(3, 1), (6, 1)]))
    builder.add(
        Structured(
            (wide, w),
            (Fill(f"{start} : {element}"),),
            (y,),
            (1, 3, image, image, 2, 3, 3),
            (_P, _P, _P, _P, _R, _R, _R),
            ((dim(0), dim(4), *windows), plain_map((1, 4, 5, 6)), plain_map((0, 1, 2, 3))),
            contraction_body(element, element, element),
        )
    )
    return builder.build((x, w), (y,))


@pytest.mark.parametrize(("image", "high"), [(8, 1), (7, 2), (5, 4)])
def test_zeros_that_lack_are_added_to_the_pad_that_is_there(image: int, high: int) -> None:
    found = apply(ConvolutionToWinogradF4(), convolution(image, "0.0"), 1)
    assert isinstance(found, Expression)
    pads = [op for op in found.ops if isinstance(op, Pad)]
    if image == 8:
        assert not pads
        return
    assert [(op.source, op.high) for op in pads] == [(0, (0, 0, high, high))]


def test_other_values_around_the_image_are_kept() -> None:
    found = apply(ConvolutionToWinogradF4(), convolution(7, "2.0"), 1)
    assert isinstance(found, Expression)
    pads = [op for op in found.ops if isinstance(op, Pad)]
    assert [(op.source, op.high, op.value) for op in pads] == [(1, (0, 0, 1, 1), "0.0 : f32")]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (
            convolution(4, "0.0", "f16"),
            "expected f32 or f64 throughout, for transformed tiles lose digits, but got "
            "f16, f16, f16",
        ),
        (
            convolution(4, "0.0", start="1.0"),
            "expected a sum with init zero, but its init is another value",
        ),
    ],
)
def test_what_is_refused(graph: Graph, reason: str) -> None:
    assert apply(ConvolutionToWinogradF4(), graph, 1) == Refusal(reason)
