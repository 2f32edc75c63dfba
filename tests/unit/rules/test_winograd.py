"""Short convolutions against the sums they stand for, in exact numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from layoutopt.compiler.installed import quirks
from layoutopt.ir.affine import affine, dim, plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Pad, Slice, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body
from layoutopt.oracle import evaluate
from layoutopt.rules.rewrites.convolution_to_winograd_f2 import ConvolutionToWinogradF2
from layoutopt.rules.rewrites.convolution_to_winograd_f4 import ConvolutionToWinogradF4
from layoutopt.rules.rewrites.separable import paired_rows, separable
from layoutopt.rules.rewrites.toom_cook import LARGEST, toom_cook
from layoutopt.rules.rule import Expression, apply
from tests.property.layouts import small_integers
from tests.property.rules.equivalence import assert_rewritten
from tests.unit.rules.contractions import contraction

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


def test_transforms_at_points_that_differ_in_sign_share_sums() -> None:
    """With x = d4 - 4 d2 and y = d3 - 4 d1, rows 1 and 2 of B^T are x + y and x - y."""
    form = toom_cook(4, 3)
    assert paired_rows(form.inputs) == (1, 2, 3, 4, 0, 5)
    assert paired_rows(form.outputs) == (0, 1, 2, 3)
    for matrix, sums, products in ((form.inputs, 12, 8), (form.outputs, 10, 3)):
        results: dict[tuple[int, ...], int] = {(i,): i for i in range(len(matrix))}
        op = separable(
            (matrix,), results, lambda index: (9 + index[0], plain_map((0,))), (1,), "f32"
        )
        names = Counter(scalar.name for scalar in op.body.ops)
        assert names["arith.addf"] + names["arith.subf"] == sums
        assert names["arith.mulf"] == products


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


def test_zeros_do_not_join_what_may_be_anything() -> None:
    graph = convolution(7, "0.0")
    ops = tuple(replace(op, anything=True) if isinstance(op, Pad) else op for op in graph.ops)
    found = apply(ConvolutionToWinogradF4(), replace(graph, ops=ops), 1)
    assert isinstance(found, Expression)
    (pad,) = (op for op in found.ops if isinstance(op, Pad))
    assert (pad.source, pad.high, pad.anything) == (1, (0, 0, 1, 1), False)


def test_other_values_around_the_image_are_kept() -> None:
    found = apply(ConvolutionToWinogradF4(), convolution(7, "2.0"), 1)
    assert isinstance(found, Expression)
    pads = [op for op in found.ops if isinstance(op, Pad)]
    assert [(op.source, op.high, op.value) for op in pads] == [(1, (0, 0, 1, 1), "0.0 : f32")]


def small_convolution(filters: tuple[int, int], image: tuple[int, int]) -> Graph:
    """A convolution of 5 x 4 outputs over the first elements of an image."""
    high, wide = filters
    windows = (affine([(2, 1), (5, 1)]), affine([(3, 1), (6, 1)]))
    maps = ((dim(0), dim(4), *windows), plain_map((1, 4, 5, 6)), plain_map((0, 1, 2, 3)))
    shapes = ((1, 2, *image), (3, 2, *filters), (1, 3, 5, 4))
    return contraction(shapes, maps, (1, 3, 5, 4, 2, high, wide), "pppprrr")


def test_a_window_of_one_element_reads_as_many_elements_as_there_are_outputs() -> None:
    """A loop that reads a dim plainly has its size; elements behind the last output are cut off."""
    graph = small_convolution((3, 1), (9, 7))
    found = apply(ConvolutionToWinogradF2(), graph, 0)
    assert isinstance(found, Expression)
    values = evaluate(graph, {t: small_integers(graph.types[t], t) for t in graph.inputs})
    assert_rewritten(graph, 0, found, values)
    (cut,) = [op for op in found.ops if isinstance(op, Slice) and op.source == 0]
    assert found.types[cut.result - len(graph.types)].shape == (1, 2, 9, 4)


def test_outputs_that_stand_alone_are_put_side_by_side_without_a_loop() -> None:
    graph = small_convolution((3, 1), (7, 4))
    found = apply(ConvolutionToWinogradF2(), graph, 0)
    assert isinstance(found, Expression)
    whole = [op for op in found.ops if isinstance(op, Structured)][-1]
    assert whole.domain == (1, 3, 3, 2, 4), "three tiles of two rows, columns as they are"


def test_no_op_has_more_operands_than_a_device_binds() -> None:
    """The outer lines of a tile read 30 products, of which the first three outputs need 25."""
    found = apply(ConvolutionToWinogradF4(), convolution(8, "0.0"), 1)
    assert isinstance(found, Expression)
    assert quirks().limits.bindings == 30
    assert all(len({*op.inputs, *op.outputs}) <= 30 for op in found.ops)
    ops = [op for op in found.ops if isinstance(op, Structured)]
    (*_, last) = (i for i, op in enumerate(ops) if op.is_contraction)
    assert [len(op.results) for op in ops[last + 1 : -1]] == [3, 1, 4, 4, 3, 1]


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
