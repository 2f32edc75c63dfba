"""A measuring run with a made-up compiler and device, to be killed: `python fake_run.py STORE N`.

Prints a line per result, after the store has it, and one per candidate that was timed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.pricing.measure.measure import Measurement, Measurer, MeasureSetting, Outcome
from layoutopt.profiles.store import Store
from layoutopt.profiles.store_record import Record
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.job import Job
from layoutopt.runtime.supervisor import Verdict

TIMING_S = 0.002


class Announcing(Store):
    def put(self, *records: Record) -> None:
        super().put(*records)
        for record in records:
            print("stored", record.key, flush=True)


class FakeTimer:
    def run(self, job: Job) -> Iterator[Verdict]:
        for task in job.tasks:
            time.sleep(TIMING_S)
            yield Verdict(task.place, Measurement(Outcome.OK, (1000,)))

    def close(self) -> None:
        """Hold nothing."""


def compile_nothing(
    source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
) -> CompileOutcome:
    output.touch()
    return CompileOutcome(True, Outcome.OK, "", 0.0)


def benchmark(number: int) -> Benchmark:
    array = np.ones(4, np.float32)
    kind = "tensor<4xf32>"
    return Benchmark(
        (Operand("%x", kind),), (), f'%r = "test.op"(%x) {{number = {number} : i64}}',
        (Result("%r", kind),), (), lambda: Case((array,), (), (array,)),
    )  # fmt: skip


def main() -> None:
    path, count = Path(sys.argv[1]), int(sys.argv[2])
    setting = MeasureSetting("fake", compile_jobs=1, batch_size=8, command="test")
    with (
        Announcing(path) as store,
        Measurer(store, setting, compile_nothing, FakeTimer()) as measurer,
    ):
        results = measurer.measure([benchmark(number) for number in range(count)])
    print("complete", sum(result.ok for result in results), flush=True)


if __name__ == "__main__":
    main()
