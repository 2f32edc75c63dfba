from __future__ import annotations

from collections.abc import Sequence

import pytest

from layoutopt.runtime import supervisor
from layoutopt.runtime.job import Event, EventKind, Job, Task
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.supervisor import Supervisor
from layoutopt.runtime.worker_process import WorkerDiedError, WorkerSilentError

_LOST = (WorkerDiedError("signal 11"), WorkerSilentError())


class _Worker:
    """A worker that says what it was told to say."""

    said: Sequence[Event | Exception] = ()

    def __init__(self, device: str, threads: int) -> None:
        self._left = list(self.said)

    def send(self, job: Job) -> None:
        pass

    def next_event(self, timeout_s: float) -> Event:
        event = self._left.pop(0)
        if isinstance(event, Exception):
            raise event
        return event

    def close(self) -> None:
        pass


def verdicts(
    said: Sequence[Event | Exception], places: int, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[int, Outcome]]:
    monkeypatch.setattr(_Worker, "said", said)
    monkeypatch.setattr(supervisor, "WorkerProcess", _Worker)
    tasks = tuple(Task(place, "m.vmfb", f"f{place}", ()) for place in range(places))
    with Supervisor("local-sync", 1) as runs:
        found = list(runs.run(Job(tasks, Protocol())))
    return [(verdict.place, verdict.measurement.outcome) for verdict in found]


def results(places: int) -> list[Event | Exception]:
    said: list[Event | Exception] = []
    for place in range(places):
        said += [Event(EventKind.RUNNING, place), Event(EventKind.RESULT, place)]
    return said


@pytest.mark.parametrize("lost", _LOST, ids=["died", "silent"])
def test_a_worker_that_is_lost_behind_its_last_result_takes_nothing_along(
    lost: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = verdicts([*results(2), lost], 2, monkeypatch)
    assert found == [(0, Outcome.OK), (1, Outcome.OK)]


def test_a_worker_that_is_silent_costs_the_task_it_was_at(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [*results(1), Event(EventKind.RUNNING, 1), WorkerSilentError()]
    found = verdicts(said, 2, monkeypatch)
    assert found == [(0, Outcome.OK), (1, Outcome.RUN_TIMEOUT)]
