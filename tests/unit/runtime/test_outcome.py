from __future__ import annotations

import pytest

from layoutopt.runtime.outcome import Measurement, Outcome


def test_median_and_spread() -> None:
    measurement = Measurement(Outcome.OK, (100, 90, 110, 100, 100))
    assert measurement.ok
    assert measurement.median_ns == 100
    assert measurement.spread == 0.0
    assert Measurement(Outcome.OK, (90, 100, 110)).spread == 0.1
    assert Measurement(Outcome.OK, (90,)).spread == 0.0
    assert not Measurement(Outcome.MISMATCH, (), "wrong").ok


def test_the_fastest_samples() -> None:
    measurement = Measurement(Outcome.OK, (400, 100, 102, 104, 900))
    assert measurement.fastest_ns == 102
    assert measurement.fastest_spread == pytest.approx(0.04)
    assert Measurement(Outcome.OK, (90,)).fastest_spread == 0.0
