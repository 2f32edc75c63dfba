"""Run jobs in a worker that may hang or crash, and give every function its own verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from layoutopt.files.closing import Closing
from layoutopt.runtime.job import ArrayFile, Event, EventKind, Job, Task
from layoutopt.runtime.outcome import Measurement, Outcome
from layoutopt.runtime.worker_process import WorkerDiedError, WorkerProcess, WorkerSilentError


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one task. Where its module did not load, `loaded` is false."""

    place: int
    measurement: Measurement
    loaded: bool = True
    outputs: tuple[ArrayFile, ...] = ()


class Supervisor(Closing):
    """Owns one worker at a time, started when first needed and again after each death."""

    def __init__(
        self, device: str, threads: int, run_timeout_s: float = 10.0, load_timeout_s: float = 30.0
    ) -> None:
        self._device = device
        self._threads = threads
        self._run_timeout_s = run_timeout_s
        self._load_timeout_s = load_timeout_s
        self._worker: WorkerProcess | None = None

    def run(self, job: Job) -> Iterator[Verdict]:
        """Yield a verdict for each task as soon as there is one.

        A task that hangs is refused at once. One that crashes is run once more, alone, before it is
        refused: memory that another function wrote over may be what killed it.
        """
        waiting = {task.place: task for task in job.tasks}
        suspects: dict[int, Task] = {}
        while waiting or suspects:
            if not waiting:
                place = next(iter(suspects))
                waiting = {place: suspects.pop(place)}
            alone = len(waiting) == 1
            for verdict in self._attempt(replace(job, tasks=tuple(waiting.values()))):
                task = waiting.pop(verdict.place)
                crashed = verdict.measurement.outcome is Outcome.RUN_CRASH
                if crashed and verdict.loaded and not alone:
                    suspects[task.place] = task
                    continue
                yield verdict

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _attempt(self, job: Job) -> Iterator[Verdict]:
        """One worker, one job: verdicts until it is done, or until the worker is lost."""
        if self._worker is None:
            self._worker = WorkerProcess(self._device, self._threads)
        done: set[int] = set()
        last = Event(EventKind.LOADING, job.tasks[0].place)
        finished = False
        try:
            self._worker.send(job)
            while True:
                event = self._worker.next_event(self._limit_s(last.kind))
                if event.kind is EventKind.DONE:
                    finished = True
                    return
                if event.kind in {EventKind.RESULT, EventKind.REFUSED}:
                    done.add(event.place)
                    measurement = Measurement(
                        event.outcome, event.samples_ns, event.reason, event.held_bytes
                    )
                    loaded = event.kind is EventKind.RESULT
                    yield Verdict(event.place, measurement, loaded, event.outputs)
                else:
                    last = event
        except WorkerSilentError:
            reason = f"did not finish within {self._limit_s(last.kind):g} s"
            lost = Measurement(Outcome.RUN_TIMEOUT, (), reason)
        except WorkerDiedError as error:
            lost = Measurement(Outcome.RUN_CRASH, (), error.reason)
        finally:
            if not finished:
                self.close()
        for task in _attributed(job, last, done):
            yield Verdict(task.place, lost, loaded=last.kind is not EventKind.LOADING)

    def _limit_s(self, kind: EventKind) -> float:
        return self._run_timeout_s if kind is EventKind.RUNNING else self._load_timeout_s


def _attributed(job: Job, last: Event, done: set[int]) -> tuple[Task, ...]:
    """The task that the last event names; all of its module where that was being loaded.

    None where each task had its result before the worker was lost.
    """
    tasks = tuple(task for task in job.tasks if task.place not in done)
    if not tasks:
        return ()
    named = next((task for task in tasks if task.place == last.place), tasks[0])
    if last.kind is not EventKind.LOADING:
        return (named,)
    return tuple(task for task in tasks if task.module == named.module)
