"""One call of `measure`: known results, then waves of compiling side by side and timing alone."""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Protocol as Interface

from layoutopt.pricing.measure.batch import Batch, make_batches, split
from layoutopt.pricing.measure.batch_compile import BatchCompiler, Compile, Compiled, Refused
from layoutopt.pricing.measure.batch_job import batch_job
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.measure.calibration import Calibration
from layoutopt.pricing.measure.compile_many import compile_timed
from layoutopt.pricing.measure.setting import Place
from layoutopt.pricing.measure.timing_lock import timing_lock
from layoutopt.profiles.store import Store, utc
from layoutopt.profiles.store_record import Provenance, Record
from layoutopt.runtime.behind import alone
from layoutopt.runtime.job import Job
from layoutopt.runtime.outcome import Measurement, Outcome
from layoutopt.runtime.progress import Pace, Progress
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.supervisor import Verdict
from layoutopt.runtime.tool_pool import tool_pool
from layoutopt.runtime.workspace import workspace

_WAVE = 4
"""Modules for each job that are compiled before they are timed: cores idle at the end of a wave."""


_WAITING_BYTES = 1 << 29
"""What the arrays of modules that wait to be timed may take on disk."""


class Timer(Interface):
    """What runs a job and gives a verdict per task: a `Supervisor`, or a fake in tests."""

    def run(self, job: Job) -> Iterator[Verdict]:
        """Yield each verdict as soon as it exists."""

    def close(self) -> None:
        """Free the device."""


@dataclass(frozen=True)
class MeasurementPlan:
    """What stays the same over all calls of one `Measurer`."""

    store: Store
    timer: Timer
    compile_one: Compile
    calibration: Calibration
    protocol: Protocol
    place: Place
    iree_version: str
    jobs: int
    batch_size: int
    compile_timeout_s: float
    since: str
    command: str


class MeasurementRun:
    """Results by key, as they come in. `keys` and `groups` run along the request."""

    def __init__(
        self,
        plan: MeasurementPlan,
        progress: Progress,
        keys: Sequence[str],
        groups: Sequence[int],
    ) -> None:
        self._plan = plan
        self._progress = progress
        self._keys = keys
        self._groups = groups
        self._results: dict[str, Measurement] = {}
        self._best_ns: dict[int, float] = {}
        self._pace = Pace(0, plan.jobs)

    def results(self, benchmarks: Sequence[Benchmark]) -> list[Measurement]:
        """Measure what is missing and return all results in order."""
        self._progress.total(len(benchmarks))
        self._take_known(range(len(benchmarks)))
        order = self._missing_places()
        batches = make_batches(
            [benchmarks[place] for place in order],
            order,
            [self._groups[place] for place in order],
            self._plan.batch_size,
            self._plan.jobs,
        )
        self._pace = Pace(len(order), self._plan.jobs)
        self._progress.remaining(self._pace.remaining_s)
        wave = _WAVE * self._plan.jobs
        if batches:
            with workspace() as folder:
                for start in range(0, len(batches), wave):
                    self._wave(batches[start : start + wave], folder)
        return [self._results[key] for key in self._keys]

    def _missing_places(self) -> list[int]:
        """First place of each key without a result."""
        first: dict[str, int] = {}
        for place, key in enumerate(self._keys):
            if key not in self._results:
                first.setdefault(key, place)
        return list(first.values())

    def _take_known(self, places: Sequence[int]) -> None:
        """Take results that the store has, from earlier runs or from processes beside this one."""
        wanted = {self._keys[place] for place in places} - set(self._results)
        for key, record in self._plan.store.get_many(sorted(wanted)).items():
            if record.is_stale(self._plan.since):
                continue
            outcome = Outcome(record.outcome)
            self._take(key, Measurement(outcome, record.samples_ns, record.reason))

    def _take(self, key: str, measurement: Measurement) -> None:
        self._results[key] = measurement
        places = [place for place, other in enumerate(self._keys) if other == key]
        self._progress.advance(len(places))
        if not measurement.ok:
            return
        for group in {self._groups[place] for place in places}:
            price_ns = float(measurement.fastest_ns)
            self._best_ns[group] = min(self._best_ns.get(group, price_ns), price_ns)

    def _wave(self, batches: Sequence[Batch], folder: Path) -> None:
        """Compile some batches side by side, then time them one after another."""
        batches = [part for batch in batches if (part := self._unknown_part(batch))]
        candidates = sum(len(batch.benchmarks) for batch in batches)
        self._progress.description(f"compiling {candidates} candidates")
        plan = self._plan
        own = Path(mkdtemp(dir=folder))  # modules of the wave around this one still wait in theirs
        compile_batch = compile_timed(plan.protocol, plan.compile_one)
        compiler = BatchCompiler(compile_batch, own, plan.jobs, plan.compile_timeout_s)
        modules: list[tuple[Compiled, Job | None]] = []
        held_bytes = 0
        started = time.monotonic()
        with tool_pool(1) as beside:
            for flags in dict.fromkeys(batch.flags for batch in batches):
                beside.submit(plan.calibration.module, flags)  # it is asked for again to time them
            for item in compiler.run(batches):
                if isinstance(item, Refused):
                    self._finish(item.batch, 0, item.measurement)
                    self._pace.timed(1, 0.0)
                    continue
                job = None
                if held_bytes < _WAITING_BYTES:  # while others compile
                    job = self._job(item)
                    held_bytes += sum(f.stat().st_size for f in _arrays(item).iterdir())
                modules.append((item, job))
        self._pace.compiled(candidates, time.monotonic() - started)
        self._progress.remaining(self._pace.remaining_s)
        for compiled, job in sorted(modules, key=lambda module: module[0].batch.order):
            self._time(compiled, job, folder)

    def _job(self, compiled: Compiled) -> Job:
        """The job of all candidates of a module, with its arrays on disk."""
        arrays = _arrays(compiled)
        arrays.mkdir()
        return batch_job(compiled, self._groups, arrays, self._plan.protocol)

    def _unknown_part(self, batch: Batch) -> Batch | None:
        self._take_known(batch.order)
        places = self._unknown_places(batch)
        return batch.part(places) if places else None

    def _unknown_places(self, batch: Batch) -> list[int]:
        return [
            place
            for place, position in enumerate(batch.order)
            if self._keys[position] not in self._results
        ]

    def _time(self, compiled: Compiled, job: Job | None, folder: Path) -> None:
        """Time one module while no other process does; split it where it does not load."""
        try:
            job = job or self._job(compiled)
            with timing_lock(self._plan.store.path), alone():
                unloaded = self._time_alone(compiled, job)
        finally:
            shutil.rmtree(_arrays(compiled), ignore_errors=True)
            compiled.module.unlink(missing_ok=True)
        if unloaded:
            self._wave(split(compiled.batch.part(unloaded)), folder)

    def _time_alone(self, compiled: Compiled, job: Job) -> list[int]:
        """Store a result per candidate; return the places that did not load together."""
        batch = compiled.batch
        self._take_known(batch.order)
        places = self._unknown_places(batch)
        if not places:
            return []
        self._progress.description(f"timing {len(places)} candidates")
        started = time.monotonic()
        calibration, outcome = self._plan.calibration.module(batch.flags)
        if not outcome.ok:
            for place in places:
                self._finish(batch, place, Measurement(outcome.outcome, (), outcome.reason))
            return []
        tasks = tuple(task for task in job.tasks if task.place in places)
        groups = sorted({task.group for task in tasks} & set(self._best_ns))
        best_ns = tuple((group, self._best_ns[group]) for group in groups)
        job = replace(job, tasks=tasks, best_ns=best_ns, calibration=str(calibration))
        unloaded = []
        for verdict in self._plan.timer.run(job):
            if not verdict.loaded and len(batch.benchmarks) > 1:
                unloaded.append(verdict.place)
                continue
            self._finish(batch, verdict.place, verdict.measurement)
            self._pace.timed(1, time.monotonic() - started)
            started = time.monotonic()
            self._progress.remaining(self._pace.remaining_s)
        return unloaded

    def _finish(self, batch: Batch, place: int, measurement: Measurement) -> None:
        """Store a result; it is reported only after that."""
        benchmark = batch.benchmarks[place]
        key = self._keys[batch.order[place]]
        provenance = Provenance(
            command=self._plan.command,
            date_utc=utc(datetime.now(UTC)),
            machine=f"{platform.node()} {platform.machine()}",
        )
        record = Record(
            key=key,
            target_fingerprint=self._plan.place.fingerprint(benchmark),
            iree_version=self._plan.iree_version,
            flags=benchmark.flags,
            text=benchmark.text,
            outcome=measurement.outcome.value,
            samples_ns=measurement.samples_ns,
            reason=measurement.reason,
            provenance=provenance,
        )
        self._plan.store.put(record)
        self._take(key, measurement)


def _arrays(compiled: Compiled) -> Path:
    """Where the arrays of a module's candidates are kept."""
    return compiled.module.with_suffix(".arrays")
