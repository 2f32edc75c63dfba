from __future__ import annotations

import pytest

from layoutopt.runtime.progress import Pace


def test_the_estimate_follows_the_real_pace() -> None:
    pace = Pace(100, jobs=1)
    assert pace.remaining_s == pytest.approx(100 * (0.15 + 0.25))
    pace.compiled(50, 50.0)
    assert 40 < pace.remaining_s < 80
    pace.compiled(50, 50.0)
    for _ in range(100):
        pace.timed(1, 0.1)
    assert pace.remaining_s == 0.0


def test_nothing_to_do_takes_no_time() -> None:
    assert Pace(0, jobs=2).remaining_s == 0.0
