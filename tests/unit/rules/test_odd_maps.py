"""Rules on ops that read along diagonals, at constant indices, backwards, or with shared loops."""

from __future__ import annotations

from typing import Any

import pytest

from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    Pad,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.oracle import evaluate
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rewrites.bubble_up_slice import BubbleUpSlice
from layoutopt.rules.rewrites.convolution_to_im2col import ConvolutionToIm2col
from layoutopt.rules.rewrites.convolution_to_winograd_f2 import ConvolutionToWinogradF2
from layoutopt.rules.rewrites.push_scatter_through_elementwise import PushScatterThroughElementwise
from layoutopt.rules.rewrites.split_reduction_into_phases import SplitReductionIntoPhases
from layoutopt.rules.rewrites.unit_filter_to_contraction import UnitFilterToContraction
from layoutopt.rules.rewrites.unroll_window import UnrollWindow
from layoutopt.rules.rule import Expression, RewriteRule, apply
from tests.property.layouts import small_integers
from tests.property.rules.equivalence import assert_rewritten
from tests.unit.rules.contractions import P, R, contraction, form, interior_padded


def held(rule: RewriteRule[Any], graph: Graph, op: int = 0) -> Expression:
    """The rule fires, and its ops make the same numbers."""
    values = evaluate(graph, {t: small_integers(graph.types[t], t) for t in graph.inputs})
    found = apply(rule, graph, op)
    assert isinstance(found, Expression)
    assert_rewritten(graph, op, found, values)
    return found


def row_of_interior_padded(row: int) -> Graph:
    """``y[i] = sum_k s[row, k] * w[k, i]`` with every second row of s from row 1 on zero."""
    return interior_padded(
        (2, 3),
        (1, 0),
        (2, 1),
        ((5, 3), (3, 4), (4,)),
        ((form(at=row), form((1, 1))), plain_map((1, 0)), plain_map((0,))),
        (4, 3),
        "pr",
    )


@pytest.mark.parametrize(("row", "read"), [(1, 0), (3, 1)])
def test_a_constant_index_becomes_that_of_the_element(row: int, read: int) -> None:
    found = held(SplitReductionIntoPhases(), row_of_interior_padded(row), 1)
    (op,) = found.ops
    assert isinstance(op, Structured)
    assert op.sources[0] == 3
    assert op.source_maps[0][0] == form(at=read)


@pytest.mark.parametrize("row", [0, 2, 4])
def test_a_constant_index_that_meets_the_background_is_no_product(row: int) -> None:
    assert apply(SplitReductionIntoPhases(), row_of_interior_padded(row), 1) == Refusal(
        "expected some phase with products, but got none"
    )


def convolved(
    image: tuple[Any, ...],
    weights: tuple[int, ...],
    shapes: Any,
    result: tuple[int, ...] = (0, 1, 2),
) -> Graph:
    """A 1-D convolution over loops n, f, o | c, k of sizes 2, 3, 4, 2, 3, as its maps read it."""
    maps = (image, plain_map(weights), plain_map(result))
    return contraction(shapes, maps, (2, 3, 4, 2, 3), "ppprr")


BATCH, _, IMAGE, CHANNEL, TAP = (form((d, 1)) for d in range(5))
WINDOW = form((2, 1), (4, 1))
ODD = {
    "the filter loop is a dim of the image too": convolved(
        (BATCH, CHANNEL, WINDOW, TAP), (1, 3, 4), ((2, 2, 6, 3), (3, 2, 3), (2, 3, 4))
    ),
    "the image loop is a dim of the image too": convolved(
        (BATCH, CHANNEL, WINDOW, IMAGE), (1, 3, 4), ((2, 2, 6, 4), (3, 2, 3), (2, 3, 4))
    ),
    "two windows share their loops": convolved(
        (BATCH, CHANNEL, WINDOW, WINDOW), (1, 3, 4), ((2, 2, 6, 6), (3, 2, 3), (2, 3, 4))
    ),
    "windows run backwards": convolved(
        (BATCH, CHANNEL, form((2, 1), (4, -1), at=2)), (1, 3, 4), ((2, 2, 6), (3, 2, 3), (2, 3, 4))
    ),
    "windows begin behind the edge": convolved(
        (BATCH, CHANNEL, form((2, 1), (4, 1), at=1)), (1, 3, 4), ((2, 2, 7), (3, 2, 3), (2, 3, 4))
    ),
    "the filter is read along a diagonal": convolved(
        (BATCH, CHANNEL, WINDOW), (1, 3, 4, 4), ((2, 2, 6), (3, 2, 3, 3), (2, 3, 4))
    ),
    "the result is written along a diagonal": convolved(
        (BATCH, CHANNEL, WINDOW), (1, 3, 4), ((2, 2, 6), (3, 2, 3), (2, 3, 4, 4)), (0, 1, 2, 2)
    ),
}
CONVOLUTION_RULES = [
    rule
    for rule in REWRITES
    if rule.name.startswith(("convolution-to", "patch", "unit-filter", "strided-unit"))
]


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("rule", CONVOLUTION_RULES, ids=lambda rule: rule.name)
def test_only_windows_with_loops_of_their_own_are_windows(
    rule: RewriteRule[Any], kind: str
) -> None:
    assert apply(rule, ODD[kind], 0) is None


@pytest.mark.parametrize(
    ("window", "sizes"),
    [(form((2, 2), (4, -1)), (4, 1)), (form((2, -1), (4, 1)), (1, 3))],
    ids=["a filter of one element", "an image of one element"],
)
def test_a_window_runs_forwards_even_where_a_loop_stands_still(
    window: Any, sizes: tuple[int, int]
) -> None:
    out, taps = sizes
    maps = ((BATCH, CHANNEL, window), plain_map((1, 3, 4)), plain_map((0, 1, 2)))
    graph = contraction(((2, 2, 7), (3, 2, taps), (2, 3, out)), maps, (2, 3, out, 2, taps), "ppprr")
    assert all(apply(rule, graph, 0) is None for rule in CONVOLUTION_RULES)


def test_a_window_over_which_nothing_is_weighted_is_no_convolution() -> None:
    maps = ((BATCH, CHANNEL, WINDOW), plain_map((1, 3)), plain_map((0, 1, 2)))
    graph = contraction(((2, 2, 6), (3, 2), (2, 3, 4)), maps, (2, 3, 4, 2, 3), "ppprr")
    assert all(apply(rule, graph, 0) is None for rule in CONVOLUTION_RULES)


def test_winograd_asks_for_one_filter_for_the_whole_image() -> None:
    graph = convolved((BATCH, CHANNEL, WINDOW), (2, 1, 3, 4), ((2, 2, 6), (4, 3, 2, 3), (2, 3, 4)))
    assert apply(ConvolutionToWinogradF2(), graph, 0) == Refusal(
        "expected one filter for the whole image, but each place along the output image loop d2 "
        "has its own"
    )
    held(ConvolutionToIm2col(), graph)


def test_a_unit_filter_read_along_a_diagonal_is_no_window() -> None:
    maps = ((IMAGE, form((2, 1), (4, 1))), plain_map((1, 4)), plain_map((1, 2)))
    graph = contraction(((4, 4), (3, 1), (3, 4)), maps, (1, 3, 4, 1, 1), "ppprr")
    assert apply(UnitFilterToContraction(), graph, 0) is None


def pooled(maps: Any, shapes: Any, domain: tuple[int, ...], kinds: str) -> Graph:
    builder = GraphBuilder()
    x, window, y = (builder.tensor(shape, "f32") for shape in shapes)
    body = Body(("f32",) * 3, (ScalarOp("arith.addf", (2, 0), "f32"),), (3,))
    iterators = tuple(P if kind == "p" else R for kind in kinds)
    builder.add(Structured((x, window), (Fill("2.0 : f32"),), (y,), domain, iterators, maps, body))
    return builder.build((x, window), (y,))


def test_an_unrolled_window_writes_its_whole_result() -> None:
    window = form((0, 2), (1, 1))
    maps = ((window,), plain_map((1,)), (form(at=1), form((0, 1))))
    graph = pooled(maps, ((6,), (2,), (3, 2)), (2, 2), "pr")
    assert apply(UnrollWindow(), graph, 0) == Refusal(
        "expected each dim of the result to be one parallel loop, for what is not written keeps "
        "the init, but one is not"
    )


@pytest.mark.parametrize("window", [form((0, 1), (1, -1), at=1), form((0, 1), (1, 2))])
def test_no_element_of_an_unrolled_window_is_read_plainly(window: Any) -> None:
    graph = pooled(((window,), plain_map((1,)), plain_map((0,))), ((6,), (2,), (3,)), (3, 2), "pr")
    assert apply(UnrollWindow(), graph, 0) == Refusal(
        "expected windows more than one element apart, for linalg takes the size of a loop that "
        "is read plainly from the tensor, but got stride 1"
    )


@pytest.mark.parametrize(
    "window",
    [form((0, 2), (1, -1), at=1), form((0, 1), (1, 1), at=1), form((0, 1), (1, -1), at=2)],
)
def test_windows_may_run_backwards_where_none_is_read_plainly(window: Any) -> None:
    graph = pooled(((window,), plain_map((1,)), plain_map((0,))), ((6,), (2,), (3,)), (3, 2), "pr")
    held(UnrollWindow(), graph)


def scattered_point(read: Any, written: Any) -> Graph:
    """Op 1: ``y = -s`` of a scatter s of 2 x 5 elements into 5 x 5."""
    builder = GraphBuilder()
    x, s = builder.tensor((2, 5), "f32"), builder.tensor((5, 5), "f32")
    y = builder.tensor(tuple(5 if f.terms else 1 for f in written), "f32")
    builder.add(Scatter((x,), s, ((1, 0),), (2, 1), "3.0 : f32"))
    rank = len({d for f in (*read, *written) for d in f.dims})
    body = Body(("f32",) * 2, (ScalarOp("arith.negf", (0,), "f32"),), (2,))
    builder.add(
        Structured((s,), (Uninitialized(),), (y,), (5,) * rank, (P,) * rank, (read, written), body)
    )
    return builder.build((x,), (y,))


@pytest.mark.parametrize(
    ("read", "written", "reason"),
    [
        (
            plain_map((0, 0)),
            plain_map((0,)),
            "expected each scattered dim to be one loop, but one is not",
        ),
        (
            plain_map((0, 1)),
            (*plain_map((0, 1)), form()),
            "expected each loop to be one dim of the result, but one is not",
        ),
    ],
)
def test_a_scatter_passes_elementwise_ops_along_plain_loops(
    read: Any, written: Any, reason: str
) -> None:
    graph = scattered_point(read, written)
    assert apply(PushScatterThroughElementwise(), graph, 1) == Refusal(reason)


def test_a_dim_that_a_scatter_covers_may_be_read_at_one_index() -> None:
    builder = GraphBuilder()
    x, s, y = (builder.tensor(shape, "f32") for shape in ((2, 3), (5, 3), (5,)))
    builder.add(Scatter((x,), s, ((1, 0),), (2, 1), "3.0 : f32"))
    body = Body(("f32",) * 2, (ScalarOp("arith.negf", (0,), "f32"),), (2,))
    maps = ((form((0, 1)), form(at=2)), plain_map((0,)))
    builder.add(Structured((s,), (Uninitialized(),), (y,), (5,), (P,), maps, body))
    held(PushScatterThroughElementwise(), builder.build((x,), (y,)), 1)


def test_ops_on_empty_tensors_keep_their_form() -> None:
    builder = GraphBuilder()
    x, y = builder.tensor((0, 3), "f32"), builder.tensor((2, 3), "f32")
    builder.add(Pad(x, y, (1, 0), (1, 0), "1.0 : f32"))
    graph = builder.build((x,), (y,))
    assert all(apply(rule, graph, 0) is None for rule in REWRITES)


def test_a_slice_of_a_sum_of_nothing_stays() -> None:
    maps = (plain_map((0, 1)), plain_map((1,)), plain_map((0,)))
    whole = contraction(((4, 0), (0,), (4,)), maps, (4, 0), "pr", Fill("2.0 : f32"))
    part = len(whole.types)
    graph = whole.extended((type(whole.types[0])((2,), "f32"),), (Slice(2, part, (1,), (1,)),))
    assert apply(BubbleUpSlice(), graph, 1) is None
