"""Price candidates on a device: look them up, compile what is missing in batches, time it alone."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from layoutopt.files.closing import Closing
from layoutopt.ir.types import Array
from layoutopt.pricing.measure.batch_compile import Compile
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.measure.calibration import Calibration
from layoutopt.pricing.measure.measurement_run import MeasurementPlan, MeasurementRun, Timer
from layoutopt.pricing.measure.outputs import outputs_of
from layoutopt.pricing.measure.setting import MeasureSetting, Place
from layoutopt.profiles.store import Store
from layoutopt.runtime.compile import compile_candidates
from layoutopt.runtime.outcome import Measurement, Outcome
from layoutopt.runtime.progress import Progress, Silent
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.supervisor import Supervisor
from layoutopt.runtime.version import iree_version

__all__ = [
    "MeasureSetting",
    "Measurement",
    "Measurer",
    "Outcome",
    "Place",
    "Progress",
    "Protocol",
    "iree_version",
]


def key_at(place: Place, benchmark: Benchmark) -> str:
    """Key of a candidate's price in the store, by this version of IREE."""
    return benchmark.key(place.fingerprint(benchmark), iree_version())


def known_measurements(
    store: Store, place: Place, benchmarks: Sequence[Benchmark], since: str = ""
) -> list[Measurement | None]:
    """What a store holds of these candidates, in order; None where not measured ``since`` then."""
    keys = [key_at(place, benchmark) for benchmark in benchmarks]
    records = store.get_many(list(dict.fromkeys(keys)))
    found = {key: record for key, record in records.items() if not record.is_stale(since)}
    return [
        Measurement(Outcome(found[key].outcome), found[key].samples_ns, found[key].reason)
        if key in found
        else None
        for key in keys
    ]


class Measurer(Closing):
    """Measures candidates for one target. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        store: Store,
        setting: MeasureSetting,
        compile_one: Compile | None = None,
        timer: Timer | None = None,
    ) -> None:
        self.place = setting.place
        self.iree_version = iree_version()
        compile_one = compile_one or compile_candidates
        self._plan = MeasurementPlan(
            store=store,
            timer=timer or Supervisor(setting.device, setting.threads, setting.run_timeout_s),
            compile_one=compile_one,
            calibration=Calibration(compile_one, setting.compile_timeout_s, setting.protocol),
            protocol=setting.protocol,
            place=self.place,
            iree_version=self.iree_version,
            jobs=setting.compile_jobs or os.cpu_count() or 1,
            batch_size=setting.batch_size,
            compile_timeout_s=setting.compile_timeout_s,
            since=setting.since,
            command=setting.command or shlex.join((Path(sys.argv[0]).name, *sys.argv[1:])),
        )

    def key(self, benchmark: Benchmark) -> str:
        """Key of a candidate in the store."""
        return key_at(self.place, benchmark)

    def known(self, benchmarks: Sequence[Benchmark]) -> list[Measurement | None]:
        """What the store holds of these candidates, in order; None where not measured."""
        return known_measurements(self._plan.store, self.place, benchmarks, self._plan.since)

    def measure(
        self,
        benchmarks: Sequence[Benchmark],
        progress: Progress | None = None,
        group: Sequence[int] | None = None,
    ) -> list[Measurement]:
        """Return a measurement per candidate, in order. Equal `group` ids compete with each other.

        Each result is in the store before anything else happens, so a run that is interrupted goes
        on where it stopped. KeyboardInterrupt ends the children and leaves no files.
        """
        keys = [self.key(benchmark) for benchmark in benchmarks]
        groups = list(group) if group is not None else list(range(len(benchmarks)))
        run = MeasurementRun(self._plan, progress or Silent(), keys, groups)
        try:
            return run.results(benchmarks)
        except BaseException:
            self.close()
            raise

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """What a candidate computes on its own inputs; None where it fails."""
        return outputs_of(self._plan, benchmark)

    def close(self) -> None:
        """End the worker process, and remove files."""
        self._plan.timer.close()
        self._plan.calibration.close()
