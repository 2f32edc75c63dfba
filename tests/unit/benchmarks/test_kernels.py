"""The model of compiled kernels on published timings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from layoutopt.profiles.target import load_target
from tests.benchmarks.kernels import (
    OWN,
    SHARED,
    TARGETS,
    Timed,
    calibrate,
    errors_of,
    held_out,
    layout_errors,
    predictions,
    timed_rows,
)


@pytest.fixture(scope="module")
def rows() -> Sequence[Timed]:
    return timed_rows()


def test_the_rows_that_are_there(rows: Sequence[Timed]) -> None:
    """Of 703, less those of the other configuration and those that another kernel ran."""
    assert len(rows) == 648


@pytest.mark.parametrize(
    ("arch", "median", "ordered"), [("gfx942", 0.15, 0.94), ("gfx950", 0.12, 0.97)]
)
def test_the_costs_of_the_targets_explain_the_rows(
    rows: Sequence[Timed], arch: str, median: float, ordered: float
) -> None:
    own = [t for t in rows if t.row.arch == arch]
    found = errors_of(own, predictions(own))
    assert found.median < median
    assert found.ordered > ordered


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "count", "median", "ordered"),
    [
        ("iree-org/iree#24117", 50, 0.12, 0.97),
        ("iree-org/iree-turbine#1163", 39, 0.17, 0.95),
    ],
)
def test_a_source_left_out(
    rows: Sequence[Timed], source: str, count: int, median: float, ordered: float
) -> None:
    found = errors_of(*held_out(rows, source))
    assert found.rows == count
    assert found.median < median
    assert found.ordered > ordered


def test_what_a_layout_saves(rows: Sequence[Timed]) -> None:
    """NHWC against NCHW of the same convolution."""
    found = layout_errors(rows, predictions(rows))
    assert found.pairs == 33
    assert found.ratio < 0.2
    assert found.winners > 0.95


def test_units_are_not_faster_than_their_data_sheets(rows: Sequence[Timed]) -> None:
    """What is fitted stays above a bound, though the data would have it below."""
    quarter = [replace(t, row=replace(t.row, time_us=t.row.time_us / 4)) for t in rows[:39]]
    assert calibrate(quarter)["matrix gfx942"] == pytest.approx(1.0)


@pytest.mark.long
def test_the_target_files_hold_what_was_fitted(rows: Sequence[Timed]) -> None:
    fitted = calibrate(rows)
    for arch, name in TARGETS.items():
        target = load_target(name)
        held = {
            f: getattr(target.kernel_rates, f) for f in (*SHARED, *OWN[arch]) if f != "launch_ns"
        }
        held["launch_ns"] = target.rates.launch_ns
        expected = {f: fitted[f] if f in SHARED else fitted[f"{f} {arch}"] for f in held}
        assert held == pytest.approx(expected, rel=0.02)
