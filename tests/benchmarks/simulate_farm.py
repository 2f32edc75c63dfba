"""How many results a second the asking side takes in: `python -m tests.benchmarks.simulate_farm`.

A scheduler and 64 workers in one process; the workers return made-up timings at once, so that what
is timed is sending candidates out, taking results in and storing them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from layoutopt.pricing.farm.chunk import Chunk, ChunkSetting
from layoutopt.pricing.farm.measurer import CHUNK, FarmMeasurer
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.profiles.store import Store
from layoutopt.profiles.store_record import Provenance, Record

SETTING = ChunkSetting("simulated", "simulated://0", 1, "0/0", "", "simulate")


def made_up_benchmark(number: int, flags: tuple[str, ...] = ("--made-up",)) -> Benchmark:
    """A candidate that is never compiled."""
    body = f'%r = "test.op"(%x) {{number = {number} : i64}}'
    kind = "tensor<4xf32>"
    return Benchmark((Operand("%x", kind),), (), body, (Result("%r", kind),), flags, no_case)


def no_case() -> Case:
    """Nothing to run on: candidates are made up."""
    return Case((), (), ())


def made_up_records(chunk: Chunk, setting: ChunkSetting) -> tuple[Record, ...]:
    """Records as `measure_chunk` returns them, without measuring."""
    fingerprint = f"{setting.target_fingerprint} {setting.device} threads={setting.threads}"
    provenance = Provenance(setting.command, "2026-01-01T00:00:00Z", "simulated")
    return tuple(
        Record(b.key(fingerprint, setting.iree_version), fingerprint, setting.iree_version, b.flags,
               b.text, "ok", (1000 + len(b.body),), "", provenance)
        for b in chunk.benchmarks
    )  # fmt: skip


def results_per_second(candidates: int, workers: int, chunk: int) -> float:
    """Run so many candidates over so many simulated workers; results that were stored a second."""
    from distributed import Client, LocalCluster  # noqa: PLC0415  (an extra: [farm])

    benchmarks = [made_up_benchmark(number) for number in range(candidates)]
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None,
            resources={SETTING.resource: 1},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        Store(Path(folder) / "prices.sqlite") as store,
    ):  # fmt: skip
        client.wait_for_workers(workers)
        farm = FarmMeasurer(store, client, SETTING, made_up_records, chunk)
        started = time.perf_counter()
        measured = farm.measure(benchmarks)
        seconds = time.perf_counter() - started
        assert len(measured) == candidates
        assert sum(1 for _ in store.records()) == candidates
    return candidates / seconds


def main() -> None:
    """Print the rate for chunks and for single candidates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=4096)
    parser.add_argument("--workers", type=int, default=64)
    arguments = parser.parse_args()
    for chunk, candidates in ((CHUNK, arguments.candidates), (1, arguments.candidates // CHUNK)):
        rate = results_per_second(candidates, arguments.workers, chunk)
        print(
            f"{arguments.workers} workers, chunks of {chunk}: {rate:.0f} results a second "
            f"({candidates} candidates)"
        )


if __name__ == "__main__":
    main()
