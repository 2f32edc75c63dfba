"""The model of compiled kernels on published timings."""

from __future__ import annotations

from collections.abc import Sequence

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
    predictions,
    timed_rows,
)


@pytest.fixture(scope="module")
def rows() -> Sequence[Timed]:
    return timed_rows()


def test_the_rows_that_are_there(rows: Sequence[Timed]) -> None:
    """Of 215, less those of the other configuration and those that another kernel ran."""
    assert len(rows) == 160


@pytest.mark.parametrize(
    ("arch", "median", "ordered"), [("gfx942", 0.32, 0.92), ("gfx950", 0.15, 0.96)]
)
def test_the_costs_of_the_targets_explain_the_rows(
    rows: Sequence[Timed], arch: str, median: float, ordered: float
) -> None:
    own = [t for t in rows if t.row.arch == arch]
    found = errors_of(own, predictions(own))
    assert found.median < median
    assert found.ordered > ordered


def test_matrix_multiplications_of_a_source_left_out(rows: Sequence[Timed]) -> None:
    found = errors_of(*held_out(rows, "iree-org/iree#24117"))
    assert found.rows == 50
    assert found.median < 0.16
    assert found.ordered > 0.96


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
