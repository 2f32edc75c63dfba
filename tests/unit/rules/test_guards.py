"""What each rule leaves alone, and what it says of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    Op,
    Pad,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.rules.rewrites.bubble_up_slice import BubbleUpSlice
from layoutopt.rules.rewrites.commute_scatter_with_contraction import CommuteScatterWithContraction
from layoutopt.rules.rewrites.convolution_to_winograd_f2 import ConvolutionToWinogradF2
from layoutopt.rules.rewrites.convolution_to_winograd_f4 import ConvolutionToWinogradF4
from layoutopt.rules.rewrites.examples import convolution_example, depthwise_example
from layoutopt.rules.rewrites.insert_to_scatter import InsertToScatter
from layoutopt.rules.rewrites.interior_padding_examples import (
    interior_padded_example,
    scatter_consumer_example,
    scatter_reshape_example,
    sliced_example,
)
from layoutopt.rules.rewrites.patch_convolution_to_contraction import PatchConvolutionToContraction
from layoutopt.rules.rewrites.push_scatter_through_elementwise import PushScatterThroughElementwise
from layoutopt.rules.rewrites.push_scatter_through_reshape import PushScatterThroughReshape
from layoutopt.rules.rewrites.scatter_to_index_arithmetic import ScatterToIndexArithmetic
from layoutopt.rules.rewrites.split_convolution_into_phases import SplitConvolutionIntoPhases
from layoutopt.rules.rewrites.unit_filter_to_contraction import UnitFilterToContraction
from layoutopt.rules.rewrites.unroll_window import UnrollWindow
from layoutopt.rules.rule import Expression, RewriteRule, apply
from tests.unit.rules.contractions import P, R, contraction, form, interior_padded


def changed(graph: Graph, op: int, **fields: Any) -> Graph:
    """The graph with other fields of one op."""
    ops: list[Op] = list(graph.ops)
    ops[op] = replace(ops[op], **fields)
    return replace(graph, ops=tuple(ops))


def computed(graph: Graph) -> Graph:
    """The graph where the first op, a scatter, is written as index arithmetic."""
    return changed(graph, 0, computed=True)


SCATTERED = scatter_consumer_example("arith.negf")
INDEX = Body(
    ("f32", "f32", "f32"),
    (
        ScalarOp("linalg.index", (), "index", (("dim", "0"),)),
        ScalarOp("arith.index_cast", (3,), "i32"),
        ScalarOp("arith.sitofp", (4,), "f32"),
        ScalarOp("arith.addf", (2, 5), "f32"),
    ),
    (6,),
)
WINDOWED = convolution_example(filter_size=3, stride=1)


def with_window(body: Body) -> Graph:
    return changed(depthwise_example(filter_size=2, stride=2), 0, body=body)


def result_twice() -> Graph:
    """A slice of a matmul's result whose rows are written along a diagonal."""
    maps = (plain_map((0, 1)), plain_map((1,)), plain_map((0, 0)))
    graph = contraction(((3, 2), (2,), (3, 3)), maps, (3, 2), "pr")
    kind = replace(graph.types[2], shape=(2, 2))
    return replace(graph.extended((kind,), (Slice(2, 3, (1, 1), (1, 1)),)), outputs=(3,))


def patches() -> Graph:
    """Windows along the dim of a scatter that its source covers."""
    graph = changed(SCATTERED, 1, domain=(5, 2, 2), iterators=(P, P, P))
    maps = ((form((0, 1)), form((1, 1), (2, 1))), plain_map((0, 1, 2)))
    kind = replace(graph.types[2], shape=(5, 2, 2))
    return replace(changed(graph, 1, maps=maps), types=(*graph.types[:2], kind))


LEFT_ALONE: dict[str, tuple[RewriteRule[Any], Graph, int]] = {
    "an op that is not a slice": (BubbleUpSlice(), sliced_example(), 0),
    "an insert without a stride": (
        InsertToScatter(),
        changed(InsertToScatter.examples[0].graph, 1, strides=(1, 1)),
        1,
    ),
    "a scatter that is written already": (
        ScatterToIndexArithmetic(),
        computed(SCATTERED),
        0,
    ),
    "an elementwise op on a scatter that is written already": (
        PushScatterThroughElementwise(),
        computed(SCATTERED),
        1,
    ),
    "a reshape of a scatter that is written already": (
        PushScatterThroughReshape(),
        computed(scatter_reshape_example()),
        1,
    ),
    "an elementwise op with an init": (
        PushScatterThroughElementwise(),
        changed(SCATTERED, 1, inits=(Fill("0.0 : f32"),)),
        1,
    ),
    "a reduction of a scatter": (
        PushScatterThroughElementwise(),
        changed(SCATTERED, 1, iterators=(P, R)),
        1,
    ),
    "patches of a scatter": (PushScatterThroughElementwise(), patches(), 1),
    "a pooling that looks at its position": (UnrollWindow(), with_window(INDEX), 0),
    "a convolution that looks at its position": (
        ConvolutionToWinogradF2(),
        changed(WINDOWED, 0, body=INDEX),
        0,
    ),
    "a window of one element": (UnrollWindow(), depthwise_example(filter_size=1), 0),
    "a unit filter, for Winograd": (ConvolutionToWinogradF2(), convolution_example(1, 1), 0),
    "a unit filter, for patches": (PatchConvolutionToContraction(), convolution_example(1, 1), 0),
    "a filter of three, for unit filters": (UnitFilterToContraction(), WINDOWED, 0),
    "a parallel read, for windows": (
        SplitConvolutionIntoPhases(),
        interior_padded_example(1, 2),
        1,
    ),
    "a window, for parallel reads": (
        CommuteScatterWithContraction(),
        interior_padded_example(3, 2),
        1,
    ),
}


@pytest.mark.parametrize("kind", LEFT_ALONE)
def test_what_a_rule_does_not_match(kind: str) -> None:
    rule, graph, op = LEFT_ALONE[kind]
    assert apply(rule, graph, op) is None


def test_most_taps_that_winograd_takes() -> None:
    rule = ConvolutionToWinogradF4()
    assert isinstance(apply(rule, convolution_example(3, 1), 0), Expression)
    cube = contraction(
        ((2, 5, 5, 5), (3, 2, 3, 3, 3), (3, 3, 3, 3)),
        (
            (form((4, 1)), *(form((o, 1), (o + 4, 1)) for o in (1, 2, 3))),
            plain_map((0, 4, 5, 6, 7)),
            plain_map((0, 1, 2, 3)),
        ),
        (3, 3, 3, 3, 2, 3, 3, 3),
        "pppprrrr",
    )
    assert apply(rule, cube, 0) == Refusal(
        "expected at most 36 products, the budget of contractions in place of one, but got 216"
    )


def scattered(maps: Any, shapes: Any, domain: tuple[int, ...], kinds: str, **more: Any) -> Graph:
    """A contraction whose first operand holds 2 x 3 elements at every second place of both dims."""
    return interior_padded((2, 3), (0, 0), (2, 2), shapes, maps, domain, kinds, **more)


ROWS = (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1)))
SHAPES = ((4, 6), (6, 2), (4, 2))
REFUSED: dict[str, tuple[RewriteRule[Any], Graph, int, str]] = {
    "rows of other values": (
        CommuteScatterWithContraction(),
        changed(scattered(ROWS, SHAPES, (4, 2, 6), "ppr"), 0, background=None),
        1,
        "expected a zero background, but got a tensor that is computed",
    ),
    "no init": (
        CommuteScatterWithContraction(),
        scattered(ROWS, SHAPES, (4, 2, 6), "ppr", init=Uninitialized()),
        1,
        "expected a contraction with an init, but it has none",
    ),
    "two image loops along a dim": (
        CommuteScatterWithContraction(),
        scattered(
            ((form((0, 1), (1, 1)), form((2, 1))), plain_map((2,)), plain_map((0, 1))),
            ((4, 6), (6,), (2, 3)),
            (2, 3, 6),
            "ppr",
        ),
        1,
        "expected one image loop and one filter loop at most along each dim, but dim 0 is "
        "'d0 + d1'",
    ),
    "two filter loops along a dim": (
        SplitConvolutionIntoPhases(),
        scattered(
            ((form((0, 1), (1, 1), (2, 1)), form((3, 1))), plain_map((1, 2, 3)), plain_map((0,))),
            ((4, 6), (2, 2, 6), (2,)),
            (2, 2, 2, 6),
            "prrr",
        ),
        1,
        "expected one image loop and one filter loop at most along each dim, but dim 0 is "
        "'d0 + d1 + d2'",
    ),
    "a diagonal": (
        CommuteScatterWithContraction(),
        scattered(
            (plain_map((0, 0)), plain_map((1,)), plain_map((0,))),
            ((4, 4), (2,), (4,)),
            (4, 2),
            "pr",
        ),
        1,
        "expected one image loop and one filter loop at most along each dim, but dim 1 is 'd0'",
    ),
    "rows from the last to the first": (
        CommuteScatterWithContraction(),
        scattered(
            ((form((0, -1), at=3), form((2, 1))), plain_map((2, 1)), plain_map((0, 1))),
            SHAPES,
            (4, 2, 6),
            "ppr",
        ),
        1,
        "expected dims that are read forwards, but dim 0 is 'd0 * -1 + 3'",
    ),
    "a result at every second place": (
        CommuteScatterWithContraction(),
        scattered(
            (plain_map((0, 2)), plain_map((2, 1)), (form((0, 2)), form((1, 1)))),
            ((4, 6), (6, 2), (7, 2)),
            (4, 2, 6),
            "ppr",
        ),
        1,
        "expected results at a plain place, but one dim is 'd0 * 2'",
    ),
    "a slice of a diagonal": (
        BubbleUpSlice(),
        result_twice(),
        1,
        "expected each dim of the result to be one loop, but one is not",
    ),
    "a scatter that is read in two ways": (
        PushScatterThroughElementwise(),
        changed(
            changed(SCATTERED, 0, strides=(2, 1)),
            1,
            sources=(1, 1),
            maps=(identity_map(2), (form((0, 1)), form(at=1)), identity_map(2)),
            body=Body(("f32",) * 3, (ScalarOp("arith.addf", (0, 1), "f32"),), (3,)),
        ),
        1,
        "expected the scattered tensor to be read in one way, but it is not",
    ),
    "patches with gaps": (
        PatchConvolutionToContraction(),
        convolution_example(filter_size=2, stride=2, dilation=2),
        0,
        "expected filter = stride without dilation, but got filter 2 stride 2 dilation 2",
    ),
    "Winograd over gaps": (
        ConvolutionToWinogradF2(),
        convolution_example(filter_size=3, stride=1, dilation=2),
        0,
        "expected windows one element apart, but got stride 1 and dilation 2",
    ),
    "Winograd with a tensor as init": (
        ConvolutionToWinogradF2(),
        changed(WINDOWED, 0, inits=(FromTensor(2),)),
        0,
        "expected a sum with init zero, but its init is another value",
    ),
    "the whole tensor is a result": (
        BubbleUpSlice(),
        replace(sliced_example(), outputs=(2, 3)),
        1,
        "expected at most 0 readers of the whole tensor beside slices, the budget of what is "
        "computed twice, but got 1",
    ),
    "the whole tensor is read elsewhere": (
        BubbleUpSlice(),
        sliced_example().extended(
            (sliced_example().types[2],), (Pad(2, 4, (0, 0), (0, 0), "0.0 : f32"),)
        ),
        1,
        "expected at most 0 readers of the whole tensor beside slices, the budget of what is "
        "computed twice, but got 1",
    ),
    "more taps than there are points": (
        ConvolutionToWinogradF4(),
        convolution_example(4, 1),
        0,
        "expected at most 6 products along a window, the budget of points that keep rounding "
        "small, but got 7",
    ),
    "a unit filter at stride three": (
        UnitFilterToContraction(),
        convolution_example(filter_size=1, stride=3),
        0,
        "expected stride 1, but got 3",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_rule_refuses(kind: str) -> None:
    rule, graph, op, reason = REFUSED[kind]
    assert apply(rule, graph, op) == Refusal(reason)


@pytest.mark.parametrize(("strides", "fires"), [((8, 8), True), ((13, 5), False)])
def test_as_many_phases_as_the_budget_holds(strides: tuple[int, int], fires: bool) -> None:
    maps = (
        (form((0, 1), (2, 1)), form((1, 1), (3, 1))),
        plain_map((2, 3)),
        plain_map((0, 1)),
    )
    a, b = strides
    shapes = ((2 * a - 1, 2 * b - 1), (a, b), (a, b))
    graph = interior_padded((2, 2), (0, 0), strides, shapes, maps, (a, b, a, b), "pprr")
    found = apply(SplitConvolutionIntoPhases(), graph, 1)
    if fires:
        assert isinstance(found, Expression)
        assert len([op for op in found.ops if isinstance(op, Structured)]) == 64
    else:
        assert found == Refusal(
            "expected at most 64 phases, the budget of contractions in place of one, but got 65"
        )
