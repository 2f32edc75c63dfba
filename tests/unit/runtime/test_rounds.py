from __future__ import annotations

import random
from collections.abc import Iterator
from typing import cast

import pytest

from layoutopt.runtime.binding import Call
from layoutopt.runtime.job import Event, EventKind, Job
from layoutopt.runtime.rounds import Runner, time_in_turns
from layoutopt.runtime.sampling import Launching, Protocol, WeightsFrom, launching_on

PROTOCOL = Protocol(
    precision=0.01, sample_ns=1, fewest_samples=5, most_samples=12, cliff=2.0, cliff_samples=5,
    agreeing=0,
)  # fmt: skip


class FakeCall:
    """Takes `times_ns` in turn, the last one from then on."""

    def __init__(self, *times_ns: float) -> None:
        self._times = self._endless(times_ns)

    def time_ns(self, calls: int, clock: object) -> float:
        return next(self._times)

    @staticmethod
    def _endless(times_ns: tuple[float, ...]) -> Iterator[float]:
        yield from times_ns
        while True:
            yield times_ns[-1]


def timed(together: bool, *calls: FakeCall) -> dict[int, int]:
    """How many samples each call got."""
    runners = [Runner(i, 0, "m", cast(Call, call), 1e9) for i, call in enumerate(calls)]
    events: list[Event] = []
    job = Job((), PROTOCOL, together=together)
    time_in_turns(job, runners, random.Random(0), events.append, lambda: 0)
    return {e.place: len(e.samples_ns) for e in events if e.kind is EventKind.RESULT}


NOISY = (100.0, 120.0) * 20


@pytest.mark.parametrize("together", [False, True])
def test_what_is_clearly_beaten_leaves_early(together: bool) -> None:
    assert timed(together, FakeCall(*NOISY), FakeCall(500.0)) == {0: 12, 1: 5}


def test_alternatives_stay_as_long_as_one_is_uncertain() -> None:
    assert timed(True, FakeCall(*NOISY), FakeCall(110.0)) == {0: 12, 1: 12}
    assert timed(False, FakeCall(*NOISY), FakeCall(110.0)) == {0: 12, 1: 6}


@pytest.mark.parametrize(
    ("alone_ns", "price_ns"),
    [
        (4_000.0, 1_000),  # 32 launches take 33 us, 1 of them for calling, submitting and waiting
        (2_000_000.0, 1_997_000),  # fills a sample by itself
    ],
)
def test_short_calls_are_launched_many_times_in_one_submission(
    alone_ns: float, price_ns: int
) -> None:
    runner = Runner(0, 0, "m", cast(Call, FakeCall(alone_ns)), alone_ns, base_ns=3_000.0)
    runner.many, runner.many_base_ns = cast(Call, FakeCall(33_000.0)), 1_000.0
    events: list[Event] = []
    protocol = Protocol(launching=Launching(32), most_samples=4)
    time_in_turns(Job((), protocol), [runner], random.Random(0), events.append, lambda: 0)
    (result,) = (e for e in events if e.kind is EventKind.RESULT)
    assert set(result.samples_ns) == {price_ns}


def test_calls_on_a_cpu_are_launched_often_only_where_they_are_short() -> None:
    launching = launching_on("local-sync")
    for alone_ns, price_ns in ((20_000.0, 1_000), (200_000.0, 197_000)):
        runner = Runner(0, 0, "m", cast(Call, FakeCall(alone_ns)), alone_ns, base_ns=3_000.0)
        runner.many, runner.many_base_ns = cast(Call, FakeCall(17_000.0)), 1_000.0
        events: list[Event] = []
        protocol = Protocol(launching=launching, most_samples=4)
        time_in_turns(Job((), protocol), [runner], random.Random(0), events.append, lambda: 0)
        (result,) = (e for e in events if e.kind is EventKind.RESULT)
        assert set(result.samples_ns) == {price_ns}


class Named:
    """A call that notes that it was made, and how often at once."""

    def __init__(self, name: str, made: list[str]) -> None:
        self._name, self._made = name, made

    def time_ns(self, calls: int, clock: object) -> float:
        self._made.append(self._name if calls == 1 else f"{self._name} x {calls}")
        return 100.0


@pytest.mark.parametrize(
    ("weights_from", "sample"),
    [
        (WeightsFrom.MEMORY, ["twin", "call"]),
        (WeightsFrom.LAST_CACHE, ["call", "twin", "call"]),
    ],
)
def test_weights_are_read_once_in_a_sample_and_all_else_is_near(
    weights_from: WeightsFrom, sample: list[str]
) -> None:
    made: list[str] = []
    protocol = Protocol(most_samples=2, fewest_samples=2, weights_from=weights_from, evict_bytes=64)
    call, twin = (cast(Call, Named(name, made)) for name in ("call", "twin"))
    runner = Runner(0, 0, "m", call, 50.0, base_ns=40.0, twin=twin)
    events: list[Event] = []
    time_in_turns(Job((), protocol), [runner], random.Random(0), events.append, lambda: 0)
    assert made == sample * 2
    (result,) = (e for e in events if e.kind is EventKind.RESULT)
    assert result.samples_ns == (60, 60)


@pytest.mark.parametrize(
    ("weights_from", "sample"),
    [
        (WeightsFrom.MEMORY, ["twin", "many"]),
        (WeightsFrom.LAST_CACHE, ["many", "twin", "many"]),
    ],
)
def test_launches_read_copies_of_weights_that_are_not_near(
    weights_from: WeightsFrom, sample: list[str]
) -> None:
    """Two calls of the twin tell whether a call is short; none brings the weights near."""
    made: list[str] = []
    protocol = Protocol(
        most_samples=2,
        fewest_samples=2,
        launching=Launching(10, below_ns=1_000),
        weights_from=weights_from,
        evict_bytes=64,
    )
    call, twin, many = (cast(Call, Named(name, made)) for name in ("call", "twin", "many"))
    runner = Runner(0, 0, "m", call, 50.0, base_ns=40.0, twin=twin, many=many, many_base_ns=20.0)
    events: list[Event] = []
    time_in_turns(Job((), protocol), [runner], random.Random(0), events.append, lambda: 0)
    assert made == ["twin", "twin", *sample * 2]
    (result,) = (e for e in events if e.kind is EventKind.RESULT)
    assert result.samples_ns == (8, 8)


def test_what_has_no_weights_is_called_often_enough_to_fill_a_sample() -> None:
    made: list[str] = []
    protocol = Protocol(
        sample_ns=1000, most_samples=1, fewest_samples=1, weights_from=WeightsFrom.MEMORY
    )
    runner = Runner(0, 0, "m", cast(Call, Named("call", made)), 100.0)
    time_in_turns(Job((), protocol), [runner], random.Random(0), lambda _: None, lambda: 0)
    assert made == ["call", "call", "call x 10"]


def test_the_first_calls_after_others_do_not_count() -> None:
    made: list[str] = []
    protocol = Protocol(
        sample_ns=1000, most_samples=2, fewest_samples=2, agreeing=0, untimed_ns=1000
    )
    runner = Runner(0, 0, "m", cast(Call, Named("call", made)), 100.0)
    time_in_turns(Job((), protocol), [runner], random.Random(0), lambda _: None, lambda: 0)
    assert made[-4:] == ["call x 10", "call x 10"] * 2


def test_a_long_call_has_none_before_it() -> None:
    made: list[str] = []
    protocol = Protocol(sample_ns=1, most_samples=2, fewest_samples=2, agreeing=0, untimed_ns=1000)
    runner = Runner(0, 0, "m", cast(Call, Named("call", made)), 1e9)
    time_in_turns(Job((), protocol), [runner], random.Random(0), lambda _: None, lambda: 0)
    assert made == ["call", "call"]


def test_a_call_that_takes_all_the_time_there_is_needs_no_other_weights() -> None:
    made: list[str] = []
    protocol = Protocol(
        sample_ns=1, budget_ns=1000, weights_from=WeightsFrom.MEMORY, evict_bytes=64
    )
    call, twin = (cast(Call, Named(name, made)) for name in ("call", "twin"))
    runner = Runner(0, 0, "m", call, 1000.0, twin=twin)
    time_in_turns(Job((), protocol), [runner], random.Random(0), lambda _: None, lambda: 0)
    assert set(made) == {"call"}


def test_driving_weights_out_counts_for_those_that_read_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("time.perf_counter_ns", lambda: next(ticks))
    protocol = Protocol(
        most_samples=1, fewest_samples=1, weights_from=WeightsFrom.MEMORY, evict_bytes=64
    )
    runners = [
        Runner(i, i, "m", cast(Call, FakeCall(100.0)), 50.0, twin=cast(Call, twin))
        for i, twin in enumerate([FakeCall(100.0), FakeCall(100.0), None])
    ]
    time_in_turns(Job((), protocol), runners, random.Random(0), lambda _: None, lambda: 0)
    assert [runner.spent_ns for runner in runners] == [1500, 1500, 1000]
