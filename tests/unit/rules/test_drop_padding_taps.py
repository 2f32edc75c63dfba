"""Filters that reach farther than their image: which taps stay, and what becomes of the pad."""

from __future__ import annotations

import pytest

from layoutopt.candidates.saturation import saturate
from layoutopt.ir.affine import affine, dim, plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Pad, Structured
from layoutopt.ir.scalar import contraction_body
from layoutopt.ir.size import Size, symbol
from layoutopt.rules.rewrites.drop_padding_taps import DropPaddingTaps
from layoutopt.rules.rule import Expression, apply

RULE = DropPaddingTaps()
P, R = IteratorType.PARALLEL, IteratorType.REDUCTION


def row(
    image: int | Size,
    taps: int,
    dilation: int,
    margin: tuple[int, int],
    outputs: int,
    stride: int = 1,
    value: str = "0.0",
    anything: bool = False,
) -> Graph:
    """A convolution (op 1) along one dim of an image among zeros (op 0)."""
    low, high = margin
    builder = GraphBuilder()
    x, padded = builder.tensor((3, image), "f32"), builder.tensor((3, low + image + high), "f32")
    builder.add(Pad(x, padded, (0, low), (0, high), f"{value} : f32", anything=anything))
    w, y = builder.tensor((2, 3, taps), "f32"), builder.tensor((2, outputs), "f32")
    builder.add(
        Structured(
            (padded, w),
            (Fill("0.0 : f32"),),
            (y,),
            (2, outputs, 3, taps),
            (P, P, R, R),
            (
                (dim(2), affine([(1, stride), (3, dilation)])),
                plain_map((0, 2, 3)),
                plain_map((0, 1)),
            ),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, w), (y,))


@pytest.mark.parametrize(
    ("graph", "taps", "margin"),
    [
        (row(4, 3, 4, (4, 4), 4), 1, None),  # dilated by the width of the image
        (row(4, 3, 9, (9, 9), 4), 1, None),
        (row(2, 5, 1, (2, 2), 2), 3, (1, 1)),
        (row(1, 3, 1, (1, 1), 1), 1, None),
        (row(4, 3, 2, (6, 0), 4), 1, (2, 0)),  # causal: all but one tap are ahead of it
        (row(2, 7, 1, (3, 3), 1, stride=2), 2, None),
    ],
)
def test_taps_that_meet_the_image_stay(
    graph: Graph, taps: int, margin: tuple[int, int] | None
) -> None:
    found = apply(RULE, graph, 1)
    assert isinstance(found, Expression)
    *_, made = found.ops
    assert isinstance(made, Structured)
    assert made.domain[3] == taps
    pads = [(op.low[1], op.high[1]) for op in found.ops if isinstance(op, Pad)]
    assert pads == ([] if margin is None else [margin])


@pytest.mark.parametrize(
    "graph",
    [
        row(4, 3, 3, (3, 3), 4),  # each tap meets the image somewhere
        row(4, 3, 4, (4, 4), 4, value="1.0"),
        row(4, 3, 4, (4, 4), 4, anything=True),
    ],
)
def test_where_no_tap_reads_zeros_alone_nothing_is_left_out(graph: Graph) -> None:
    assert apply(RULE, graph, 1) is None


def test_a_filter_as_wide_as_the_dilated_image_becomes_a_matmul() -> None:
    egraph = saturate(row(6, 3, 12, (12, 12), 6))
    assert (RULE.name, "unit-filter-to-contraction") in egraph.rule
    assert 1 in egraph.canonicalized  # no other layout of the wide filter is priced


def test_an_image_of_open_width_keeps_its_taps() -> None:
    found = apply(RULE, row(symbol("w", 1, 64), 3, 4, (4, 4), 4), 1)
    assert not isinstance(found, Expression)
