"""Gradients of convolutions as importers write them, and what IREE's own passes get wrong."""

from __future__ import annotations

import pytest

from layoutopt.ir.graph import Pad, Scatter, Slice, Structured
from layoutopt.normalize.canonical_form import canonical_form
from tests.interior_padding_text import (
    BROADCAST,
    FILL,
    ONES,
    PAD,
    SPLAT,
    add_one,
    around,
    mapped,
    second_user,
)
from tests.parsing import lifted
from tests.torch_graphs import input_gradient, weight_gradient
from tests.unit.rules.ways import assert_all_ways_agree, rules_that_fired


@pytest.mark.parametrize("background", [SPLAT, FILL, BROADCAST, PAD])
def test_any_zero_background(background: str) -> None:
    egraph = assert_all_ways_agree(lifted(around(background, add_one())))
    assert "commute-scatter-with-contraction" in rules_that_fired(egraph)


@pytest.mark.parametrize("behind", [add_one(), mapped("math.cos"), mapped("math.exp")])
def test_a_consumer_that_does_not_map_zero_to_zero(behind: str) -> None:
    egraph = assert_all_ways_agree(lifted(around(FILL, behind)))
    assert "push-scatter-through-elementwise" in rules_that_fired(egraph)


def test_the_background_becomes_its_image() -> None:
    egraph = assert_all_ways_agree(lifted(around(FILL, add_one())))
    images = [op.background for op in egraph.graph.ops if isinstance(op, Scatter)]
    assert "1.0 : f32" in images


def test_a_background_that_is_not_zero_is_refused() -> None:
    egraph = assert_all_ways_agree(lifted(around(ONES, add_one())))
    assert "commute-scatter-with-contraction" not in rules_that_fired(egraph)
    reasons = [r.reason for r in egraph.refusals]
    assert any(r.startswith("expected a zero background, but got 1.0") for r in reasons)


def test_a_permuted_result() -> None:
    kind = "tensor<5x2x6x6xf32>"
    text = around(SPLAT, add_one(kind), kind, "(f, n, h, w)")
    egraph = assert_all_ways_agree(lifted(text))
    (made,) = [
        op
        for op, rules in zip(egraph.graph.ops, egraph.rule, strict=True)
        if isinstance(op, Scatter) and rules == ("commute-scatter-with-contraction",)
    ]
    assert made.strides == (1, 1, 2, 2)
    assert made.offsets == ((0, 0, 0, 1),)


def test_several_users_of_the_scattered_tensor() -> None:
    egraph = assert_all_ways_agree(lifted(around(SPLAT, second_user())))
    assert "commute-scatter-with-contraction" in rules_that_fired(egraph)


@pytest.mark.parametrize(
    ("small", "taps", "stride", "padding", "dilation", "groups", "more"),
    [
        ([4], 3, 2, 1, 1, 1, 0),
        ([4], 4, 3, 1, 1, 1, 1),
        ([3, 4], 3, 2, 1, 1, 1, 1),
        ([3, 3], 5, 3, 2, 1, 1, 0),
        ([3, 3], 3, 2, 2, 2, 1, 0),
        ([3, 3], 3, 2, 1, 1, 2, 1),
        ([2, 3, 2], 3, 2, 1, 1, 1, 0),
    ],
)
def test_input_gradients_of_torch(
    small: list[int], taps: int, stride: int, padding: int, dilation: int, groups: int, more: int
) -> None:
    text = input_gradient(small, taps, stride, padding, dilation, groups, more)
    graph = canonical_form(lifted(text)).graph
    egraph = assert_all_ways_agree(graph)
    assert "split-convolution-into-phases" in rules_that_fired(egraph)


def test_a_one_by_one_input_gradient_of_torch() -> None:
    egraph = assert_all_ways_agree(lifted(input_gradient([3, 3], 1, 2, 0)))
    assert "commute-scatter-with-contraction" in rules_that_fired(egraph)


@pytest.mark.parametrize("small", [[4], [3, 2], [2, 2, 2]])
@pytest.mark.parametrize("interior_padded", [False, True])
def test_weight_gradients_of_torch(small: list[int], interior_padded: bool) -> None:
    egraph = assert_all_ways_agree(
        lifted(weight_gradient(small, 3, 2, interior_padded=interior_padded))
    )
    assert ("split-reduction-into-phases" in rules_that_fired(egraph)) == interior_padded


def test_a_phase_does_not_multiply_zeros() -> None:
    """Multiplications drop from 9 to 9 / 4 per output of a 3x3 filter at stride 2."""
    egraph = assert_all_ways_agree(lifted(input_gradient([4, 4], 3, 2, 1, output_padding=1)))
    work: dict[tuple[str, ...], int] = {}
    for op, rules in zip(egraph.graph.ops, egraph.rule, strict=True):
        if isinstance(op, Structured) and op.is_contraction and len(rules) < 2:
            points = 1
            for n in op.domain:
                points *= n
            work[rules] = work.get(rules, 0) + points
    assert work[()] == 4 * work["split-convolution-into-phases",]


@pytest.mark.parametrize(
    ("place", "kinds"),
    [("1, 0", [Slice]), ("0, 0", [Structured]), ("1, 1", [Structured])],
    ids=["same phase", "other row", "other column"],
)
def test_a_slice_of_a_scatter_at_one_phase(place: str, kinds: list[type]) -> None:
    graph = lifted(f"""func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {{
      %bg = arith.constant dense<2.0> : tensor<7x8xf32>
      %s = tensor.insert_slice %x into %bg[1, 0] [3, 4] [2, 2] : tensor<3x4xf32> into tensor<7x8xf32>
      %r = tensor.extract_slice %s[{place}] [3, 4] [2, 2] : tensor<7x8xf32> to tensor<3x4xf32>
      return %r : tensor<3x4xf32>
    }}""")  # noqa: E501
    egraph = assert_all_ways_agree(graph)
    made = [
        type(op)
        for op, rules in zip(egraph.graph.ops, egraph.rule, strict=True)
        if "fold-slice-of-scatter" in rules
    ]
    assert made == kinds


def test_phases_share_one_pad() -> None:
    egraph = assert_all_ways_agree(lifted(input_gradient([4, 4], 3, 2, 1, output_padding=1)))
    made = [
        op
        for op, rules in zip(egraph.graph.ops, egraph.rule, strict=True)
        if rules == ("split-convolution-into-phases",)
    ]
    (pad,) = (op for op in made if isinstance(op, Pad))
    assert (pad.low, pad.high) == ((0, 0, 0, 0), (0, 0, 1, 1))
    read = [op.source for op in made if isinstance(op, Slice)]
    assert read.count(pad.result) == 2, "one tap along a dim reads what lies inside"
