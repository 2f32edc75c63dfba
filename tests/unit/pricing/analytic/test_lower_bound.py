"""Bounds of prices: far below at first, then near the best dispatch that was seen."""

from __future__ import annotations

import pytest

from layoutopt.pricing.analytic.lower_bound import (
    FEWEST_DISPATCHES,
    HEADROOM,
    LAUNCH_NS,
    SHORTEST_RATED_NS,
    roofs_of,
)
from layoutopt.pricing.analytic.work import Contraction, DispatchWork
from layoutopt.profiles.target import Rates

RATES = Rates({"f32": 100.0}, bandwidth_gb_s=10.0, launch_ns=5000, efficiency={})
MATMUL = DispatchWork((4096,), (4096,), Contraction(1, 100, 100, 100, "f32"))
COPY = DispatchWork((1_000_000,), (1_000_000,))


def test_at_first_bounds_are_what_nothing_reaches() -> None:
    roofs = roofs_of(RATES)
    assert roofs.lower_bound_ns(MATMUL) == round(2_000_000 / 150)
    assert roofs.lower_bound_ns(COPY) == 2_000_000 / 80
    assert roofs.lower_bound_ns(DispatchWork((4,), (4,))) == LAUNCH_NS


def test_an_element_type_without_a_rate_counts_as_f32() -> None:
    work = DispatchWork((1,), (1,), Contraction(1, 100, 100, 100, "f8E4M3"))
    assert roofs_of(RATES).lower_bound_ns(work) == roofs_of(RATES).lower_bound_ns(MATMUL)


def test_bounds_follow_the_best_of_many() -> None:
    roofs = roofs_of(RATES, [(MATMUL, 25_000 + i) for i in range(FEWEST_DISPATCHES)])
    assert roofs.operations["f32"] == 2_000_000 / 25_000 * HEADROOM


def test_a_few_slow_ones_say_nothing() -> None:
    assert roofs_of(RATES, [(MATMUL, 10**9)] * (FEWEST_DISPATCHES - 1)) == roofs_of(RATES)


def test_many_slow_ones_do_not_bring_a_roof_below_the_lowest() -> None:
    roofs = roofs_of(RATES, [(MATMUL, 10**9), (COPY, 10**9)] * FEWEST_DISPATCHES)
    assert roofs.operations["f32"] == 50
    assert roofs.bytes == 20


@pytest.mark.parametrize("count", [1, FEWEST_DISPATCHES])
def test_a_dispatch_above_the_roof_lifts_it(count: int) -> None:
    work = DispatchWork((1,), (1,), Contraction(1, 1000, 1000, 100, "f32"))
    roofs = roofs_of(RATES, [(work, SHORTEST_RATED_NS)] * count)
    assert roofs.operations["f32"] == 20_000 * HEADROOM
