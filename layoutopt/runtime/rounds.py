"""Time several functions in turns, so that a slow moment of the machine affects all of them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from layoutopt.runtime.binding import Call, Clock
from layoutopt.runtime.job import Event, EventKind, Job
from layoutopt.runtime.sampling import (
    Protocol,
    calls_per_sample,
    fastest_ns,
    is_beaten,
    is_finished,
)


@dataclass
class Runner:
    """A checked function on its way through the rounds; the only mutable thing in timing."""

    place: int
    group: int
    module: str
    call: Call
    first_ns: float
    note: str = ""
    """What there is to say of its results."""
    calls: int = 0
    spent_ns: float = 0.0
    samples_ns: list[float] = field(default_factory=list)


def time_in_turns(
    job: Job,
    runners: Sequence[Runner],
    base_ns: float,
    order: random.Random,
    emit: Callable[[Event], None],
    clock: Clock,
) -> None:
    """Sample each runner once a round, in random order, until all are finished.

    A RUNNING event goes out before each sample and a RESULT as soon as one is finished; with
    `job.together` only those that are clearly beaten leave before all are finished.
    """
    protocol = job.protocol
    best_ns = dict(job.best_ns)
    memory = np.ones(protocol.evict_bytes // 8, np.int64)
    waiting = list(runners)
    while waiting:
        order.shuffle(waiting)
        for runner in waiting:
            emit(Event(EventKind.RUNNING, runner.place))
            if runner.calls == 0:
                _warm(runner, protocol, clock)
            memory.sum()
            _sample(runner, base_ns, clock)
        for runner in waiting:
            price_ns = fastest_ns(runner.samples_ns)
            best_ns[runner.group] = min(best_ns.get(runner.group, price_ns), price_ns)
        finished = [runner for runner in waiting if _is_finished(runner, best_ns, protocol)]
        if job.together and len(finished) < len(waiting):
            finished = [r for r in finished if is_beaten(r.samples_ns, best_ns[r.group], protocol)]
        for runner in sorted(finished, key=lambda runner: runner.place):
            samples_ns = _rounded(runner.samples_ns)
            emit(Event(EventKind.RESULT, runner.place, samples_ns=samples_ns, reason=runner.note))
        waiting = [runner for runner in waiting if runner not in finished]


def _is_finished(runner: Runner, best_ns: dict[int, float], protocol: Protocol) -> bool:
    best = best_ns[runner.group]
    return is_finished(runner.samples_ns, runner.spent_ns, best, protocol)


def _warm(runner: Runner, protocol: Protocol, clock: Clock) -> None:
    """Find out how long a warm call takes; one that is long already is not called again."""
    call_ns = runner.first_ns
    if call_ns < protocol.budget_ns / 4:
        call_ns = min(call_ns, runner.call.time_ns(1, clock))
        call_ns = (
            min(call_ns, runner.call.time_ns(1, clock)) if call_ns < protocol.sample_ns else call_ns
        )
    runner.calls = calls_per_sample(call_ns, protocol)


def _sample(runner: Runner, base_ns: float, clock: Clock) -> None:
    started = time.perf_counter_ns()
    call_ns = runner.call.time_ns(runner.calls, clock)
    runner.spent_ns += time.perf_counter_ns() - started
    runner.samples_ns.append(max(1.0, call_ns - base_ns))


def _rounded(samples: Sequence[float]) -> tuple[int, ...]:
    return tuple(round(sample) for sample in samples)
