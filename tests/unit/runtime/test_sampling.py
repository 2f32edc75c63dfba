from __future__ import annotations

import pytest

from layoutopt.runtime.sampling import (
    FAR_OVER,
    EmptyCall,
    Protocol,
    calls_per_sample,
    empty_call_ns,
    fastest_ns,
    is_finished,
    is_precise,
    median_interval,
)

PROTOCOL = Protocol(sample_ns=1_000_000, budget_ns=1000, most_samples=20, agreeing=0)


@pytest.mark.parametrize(("call_ns", "calls"), [(10_000, 100), (3e6, 1), (999_999, 2), (0, 10_000)])
def test_calls_fill_a_sample(call_ns: float, calls: int) -> None:
    assert calls_per_sample(call_ns, PROTOCOL) == calls


@pytest.mark.parametrize(
    ("one", "two", "several", "empty"),
    [
        # A processor, microseconds: memory for what the first makes comes with the second.
        (20.0, 21.5, 25.5, (19.875, 19.875)),
        # A GPU, whose driver takes one dispatch alone another way.
        (178.0, 43.0, 171.0, (174.0, 35.0)),
        (3.0, 3.0, 2.0, (3.0, 3.0)),
        (3.0, 9.0, 300.0, (0.0, 0.0)),
    ],
)
def test_an_empty_call_is_what_dispatches_do_not_explain(
    one: float, two: float, several: float, empty: tuple[float, float]
) -> None:
    assert empty_call_ns(one, two, several, 34) == EmptyCall(*empty)


def test_the_interval_of_few_samples_is_their_range() -> None:
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_the_interval_of_the_median_narrows() -> None:
    # 95 % intervals from the binomial distribution: ranks 2..9 of 10 and 6..15 of 20
    assert median_interval([float(rank) for rank in range(1, 11)]) == (2.0, 9.0)
    assert median_interval([float(rank) for rank in range(1, 21)]) == (6.0, 15.0)
    assert is_precise([100.0] * 6, 0.02)
    assert not is_precise([100.0] * 5, 0.02)
    assert not is_precise([90.0, 110.0] * 5, 0.02)


def test_sampling_ends() -> None:
    noisy = [90.0, 110.0] * 4
    assert not is_finished([], 0, None, PROTOCOL)
    assert not is_finished([100.0], 4999, None, PROTOCOL)
    assert is_finished([100.0], FAR_OVER * 1000, None, PROTOCOL)
    assert is_finished([100.0] * 3, 1000, None, PROTOCOL)
    assert not is_finished(noisy, 500, None, PROTOCOL)
    assert is_finished(noisy * 3, 500, None, PROTOCOL)
    assert is_finished([100.0, 100.1] * 4, 500, None, PROTOCOL)


def test_a_cliff_is_left_early() -> None:
    assert is_finished([500.0, 480.0, 500.0], 0, 100.0, PROTOCOL)
    assert not is_finished([500.0, 190.0, 500.0], 0, 100.0, PROTOCOL)
    assert not is_finished([500.0, 500.0], 0, 100.0, PROTOCOL)


def test_the_price_is_that_of_the_fastest_samples() -> None:
    assert fastest_ns([900.0, 102.0, 100.0, 101.0, 5000.0]) == 101.0
    assert fastest_ns([7.0]) == 7.0


def test_sampling_ends_when_the_fastest_agree() -> None:
    protocol = Protocol(budget_ns=1000, most_samples=20)
    disturbed = [300.0, 100.0, 450.0, 101.0, 900.0]
    assert not is_finished([*disturbed, 700.0], 500, None, protocol)
    assert is_finished([*disturbed, 102.0], 500, None, protocol)
    assert not is_finished([*disturbed, 103.0], 500, None, protocol)
    assert not is_finished([100.0] * 5, 500, None, protocol), "five may all come from one moment"
