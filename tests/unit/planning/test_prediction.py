"""Ranges of what is predicted from estimates."""

from __future__ import annotations

import pytest

from layoutopt.planning.prediction import Range, Step, ratio_of, spread_of
from layoutopt.pricing.prices import Price


def estimate(nominal_ns: int, uncertainty: float) -> Price:
    return Price(round(nominal_ns * (1 + uncertainty / 2)), "", uncertainty, estimated=True)


def test_errors_of_estimates_add_up_and_measurements_have_none() -> None:
    steps = [
        Step("a", estimate(1000, 0.5)),
        Step("b", estimate(100, 0.2)),
        Step("c", Price(10, "", 0.3)),
    ]
    found = spread_of(steps)
    assert found is not None
    assert (round(found.low), round(found.high)) == (760, 1630)
    assert spread_of(steps[2:]) is None
    assert spread_of([]) is None


def test_an_error_is_a_factor_to_both_sides() -> None:
    assert spread_of([Step("a", estimate(1000, 1.0))]) == Range(500.0, 2000.0)


def test_what_both_have_in_common_narrows_the_range_of_their_ratio() -> None:
    old, new = Step("old", estimate(1000, 0.2)), Step("new", estimate(500, 0.2))
    apart = ratio_of([old], [new])
    assert apart is not None
    assert (apart.low, apart.high) == pytest.approx((1000 / 1.2 / 600, 1200 / (500 / 1.2)))
    same = Step("same", estimate(1000, 0.5))
    found = ratio_of([same, old], [same, new])
    assert found is not None
    assert (found.low, found.high) == pytest.approx(
        ((1500 + 1000 / 1.2) / (1500 + 600), (1000 / 1.5 + 1200) / (1000 / 1.5 + 500 / 1.2))
    )
    assert ratio_of([same], [same]) == Range(1.0, 1.0)


def test_a_ratio_over_nothing_has_no_range() -> None:
    assert ratio_of([Step("a", estimate(1000, 0.2))], [Step("b", estimate(0, 1.0))]) is None
    assert ratio_of([Step("a", Price(5))], [Step("b", Price(5))]) is None
