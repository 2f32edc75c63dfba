"""The analytic model on figures that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from layoutopt.profiles.target import Target, load_target
from tests.benchmarks.published import (
    PUBLISHED,
    Prediction,
    calibrate,
    leave_one_out,
    mean_speedup_error,
    pairs_in_order,
)


@pytest.fixture(scope="module")
def target() -> Target:
    return load_target("mi355x")


@pytest.fixture(scope="module", params=[False, True], ids=["one out", "family out"])
def predictions(request: pytest.FixtureRequest, target: Target) -> Sequence[Prediction]:
    return leave_one_out(PUBLISHED, target, family=bool(request.param))


def test_speedups_within_15_percent_on_average(predictions: Sequence[Prediction]) -> None:
    assert mean_speedup_error(predictions) < 0.15


def test_both_times_within_35_percent_on_seven_of_nine(predictions: Sequence[Prediction]) -> None:
    assert sum(p.time_error < 0.35 for p in predictions) >= 7


def test_order_of_the_shapes_is_kept(predictions: Sequence[Prediction]) -> None:
    assert pairs_in_order(predictions) == (36, 36)


def test_the_target_file_holds_what_was_fitted(target: Target) -> None:
    fitted = calibrate(PUBLISHED, target)
    fields = {**{name: getattr(target.machine, name) for name in fitted if name != "launch_ns"},
              "launch_ns": target.rates.launch_ns}  # fmt: skip
    assert fields == pytest.approx(fitted, rel=0.02)


def test_the_uncertainty_is_that_of_rows_left_out(target: Target) -> None:
    errors = [
        math.log(predicted / published)
        for p in leave_one_out(PUBLISHED, target)
        for predicted, published in (
            (p.baseline_us, p.row.baseline_us),
            (p.improved_us, p.row.improved_us),
        )
    ]
    root_mean_square = math.sqrt(sum(error * error for error in errors) / len(errors))
    assert root_mean_square <= target.machine.uncertainty < 1.5 * root_mean_square


def test_the_result_does_not_hang_on_the_prior(target: Target) -> None:
    for weight in (0.03, 0.3):
        assert mean_speedup_error(leave_one_out(PUBLISHED, target, prior_weight=weight)) < 0.15
