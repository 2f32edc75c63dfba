"""Time several functions in turns, so that a slow moment of the machine affects all of them."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from layoutopt.runtime.binding import Call, Clock
from layoutopt.runtime.filled_memory import filled_memory
from layoutopt.runtime.job import Event, EventKind, Job
from layoutopt.runtime.peer import PeerCall
from layoutopt.runtime.sampling import (
    Protocol,
    WeightsFrom,
    calls_ahead,
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
    call: Call | PeerCall
    first_ns: float
    note: str = ""
    """What there is to say of its results."""
    held_bytes: int | None = None
    """Memory of the device that a call has, of whole modules."""
    base_ns: float = 0.0
    """What a call costs without a dispatch; its times are without it."""
    many_base_ns: float = 0.0
    """The same of ``many``: one dispatch alone takes another way through a GPU's driver."""
    leads: int = 0
    """Calls that a sample begins with, and that do not count."""
    twin: Call | None = None
    """The same with other copies of its weights; None where they may be as near as they are."""
    evict: Call | None = None
    """Fills memory of the device before each sample; None where weights may stay where they are."""
    many: Call | None = None
    """The same with many launches in its submission; None where a call is timed as it is."""
    launches: int = 1
    """Launches in what `call` submits."""
    calls: int = 0
    spent_ns: float = 0.0
    samples_ns: list[float] = field(default_factory=list)


def time_in_turns(
    job: Job,
    runners: Sequence[Runner],
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
    evictor = _Evictor(protocol)
    waiting = list(runners)
    while waiting:
        order.shuffle(waiting)
        evictor.before_round(waiting)
        for runner in waiting:
            emit(Event(EventKind.RUNNING, runner.place))
            if runner.calls == 0:
                _warm(runner, protocol, clock)
            _sample(runner, evictor, clock)
        for runner in waiting:
            price_ns = fastest_ns(runner.samples_ns)
            best_ns[runner.group] = min(best_ns.get(runner.group, price_ns), price_ns)
        finished = [runner for runner in waiting if _is_finished(runner, best_ns, protocol)]
        if job.together and len(finished) < len(waiting):
            finished = [r for r in finished if is_beaten(r.samples_ns, best_ns[r.group], protocol)]
        for runner in sorted(finished, key=lambda runner: runner.place):
            emit(
                Event(
                    EventKind.RESULT,
                    runner.place,
                    samples_ns=_rounded(runner.samples_ns),
                    reason=runner.note,
                    held_bytes=runner.held_bytes,
                )
            )
        waiting = [runner for runner in waiting if runner not in finished]


def _is_finished(runner: Runner, best_ns: dict[int, float], protocol: Protocol) -> bool:
    best = best_ns[runner.group]
    return is_finished(runner.samples_ns, runner.spent_ns, best, protocol)


class _Evictor:
    """Keeps weights out of the caches that they would not be in, and nothing else.

    What a round of other candidates reads drives weights out of a last cache as well, so one pass
    over other memory does for all of them. Weights that are to stay there are read before each
    sample, and only the caches before it are filled with something else.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._weights_from = protocol.weights_from
        self._memory = _other_memory(protocol.evict_bytes)

    def before_round(self, runners: Sequence[Runner]) -> None:
        """Each pays its share: one that is alone would be called as often as all together else."""
        reading = [runner for runner in runners if runner.twin is not None]
        if self._weights_from is not WeightsFrom.MEMORY or not reading:
            return
        started = time.perf_counter_ns()
        self._memory.sum()
        share_ns = (time.perf_counter_ns() - started) / len(reading)
        for runner in reading:
            runner.spent_ns += share_ns

    def before_sample(self, runner: Runner, twin: Call, clock: Clock) -> None:
        """Its arguments, results and code are where a call leaves them, its weights are not."""
        if self._weights_from is WeightsFrom.LAST_CACHE:
            runner.call.time_ns(1, clock)
            self._memory.sum()
        twin.time_ns(1, clock)


@functools.lru_cache(maxsize=1)
def _other_memory(size_bytes: int) -> npt.NDArray[np.int64]:
    """Kept from job to job: it takes longer to find than to read."""
    if size_bytes < np.dtype(np.int64).itemsize:
        return np.empty(0, np.int64)
    return filled_memory(size_bytes).view(np.int64)


def _warm(runner: Runner, protocol: Protocol, clock: Clock) -> None:
    """Find out how long a warm call takes; one that is long already is not called again."""
    if runner.first_ns >= protocol.budget_ns:
        runner.twin = None  # so long a call has other things to wait for
    if runner.twin is not None:  # a call would bring its weights near
        runner.calls = 1
        if runner.many is not None:
            runner.twin.time_ns(1, clock)
            if runner.twin.time_ns(1, clock) < protocol.launching.below_ns:
                _launch_many(runner, runner.many, protocol)
        return
    call_ns = runner.first_ns
    if call_ns < protocol.budget_ns / 4:
        call_ns = min(call_ns, runner.call.time_ns(1, clock))
        call_ns = (
            min(call_ns, runner.call.time_ns(1, clock)) if call_ns < protocol.sample_ns else call_ns
        )
    if runner.many is not None and call_ns < protocol.launching.below_ns:
        _launch_many(runner, runner.many, protocol)
        runner.call.time_ns(1, clock)
        call_ns = runner.call.time_ns(1, clock)
    runner.calls = calls_per_sample(call_ns, protocol)
    runner.leads = calls_ahead(call_ns, protocol)


def _launch_many(runner: Runner, many: Call, protocol: Protocol) -> None:
    """Time the launches of one submission, which read copies of their weights in turn."""
    runner.call, runner.launches = many, protocol.launching.count
    runner.base_ns = runner.many_base_ns


def _sample(runner: Runner, evictor: _Evictor, clock: Clock) -> None:
    started = time.perf_counter_ns()
    if runner.twin is not None:
        evictor.before_sample(runner, runner.twin, clock)
    elif runner.evict is not None:
        runner.evict.time_ns(1, clock)
    elif runner.leads:
        runner.call.time_ns(runner.leads, clock)
    call_ns = runner.call.time_ns(runner.calls, clock)
    runner.spent_ns += time.perf_counter_ns() - started
    runner.samples_ns.append(max(1.0, (call_ns - runner.base_ns) / runner.launches))


def _rounded(samples: Sequence[float]) -> tuple[int, ...]:
    return tuple(round(sample) for sample in samples)
