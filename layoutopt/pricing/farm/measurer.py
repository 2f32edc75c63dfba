"""Measure candidates on the workers of a Dask scheduler; results stream into one store.

Workers declare what they hold: `dask worker tcp://HOST:8786 --nthreads 1 --resources "hip=1"`.
Dask gives the work of a lost worker to another one; work that several workers were lost on is
cut into single candidates, and one that does it again, alone, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from layoutopt.errors import InputError
from layoutopt.files.closing import Closing
from layoutopt.ir.types import Array
from layoutopt.pricing.farm.chunk import Chunk, ChunkSetting, chunks_of, measure_chunk
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.profiles.store import Store, utc
from layoutopt.profiles.store_record import Provenance, Record
from layoutopt.runtime.outcome import Measurement, Outcome
from layoutopt.runtime.progress import Pace, Progress, Silent

if TYPE_CHECKING:
    from distributed import Client, Future

_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://[^/\s]+:\d+")
CHUNK = 16
IN_FLIGHT = 2
"""Chunks that are out for each worker at a time."""
CONNECT_TIMEOUT_S = 30
Measure = Callable[[Chunk, ChunkSetting], tuple[Record, ...]]


class FarmMeasurer(Closing):
    """Does what `Measurer` does, on other machines."""

    def __init__(
        self,
        store: Store,
        client: Client,
        setting: ChunkSetting,
        measure: Measure = measure_chunk,
        chunk: int = CHUNK,
    ) -> None:
        self._store = store
        self._client = client
        self._setting = setting
        self._measure = measure
        self._chunk = chunk
        self.place = setting.place

    def key(self, benchmark: Benchmark) -> str:
        """Key of a candidate in the store, equal to `Measurer.key`."""
        return benchmark.key(self.place.fingerprint(benchmark), self._setting.iree_version)

    def known(self, benchmarks: Sequence[Benchmark]) -> list[Measurement | None]:
        """What the store holds of these candidates, in order; None where not measured."""
        found = self._store.get_many([self.key(benchmark) for benchmark in benchmarks])
        records = [found.get(self.key(benchmark)) for benchmark in benchmarks]
        return [None if record is None else _measurement(record) for record in records]

    def measure(
        self,
        benchmarks: Sequence[Benchmark],
        progress: Progress | None = None,
        group: Sequence[int] | None = None,
    ) -> list[Measurement]:
        """Return a measurement per candidate, in order; each is stored as soon as it arrives.

        Raises InputError where no worker holds the device.
        """
        progress = progress or Silent()
        groups = list(group) if group is not None else list(range(len(benchmarks)))
        keys = [self.key(benchmark) for benchmark in benchmarks]
        found = self._store.get_many(list(dict.fromkeys(keys)))
        progress.total(len(benchmarks))
        progress.advance(sum(key in found for key in keys))
        places = {key: place for place, key in reversed(list(enumerate(keys))) if key not in found}
        missing = sorted(places.values())
        if missing:
            workers = self._check_workers()
            progress.description(f"measuring on {workers} workers")
            pace = Pace(len(missing), workers)
            chunks = chunks_of([benchmarks[i] for i in missing], [groups[i] for i in missing],
                               self._chunk)  # fmt: skip
            for records in self._run(chunks, workers):
                self._store.put(*records)
                found.update((record.key, record) for record in records)
                progress.advance(len(records))
                pace.compiled(len(records), 0.0)
                progress.remaining(pace.remaining_s)
        return [_measurement(found[key]) for key in keys]

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """Results stay on the worker."""
        return None

    def _check_workers(self) -> int:
        resource = self._setting.resource
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        holding = sum(1 for worker in workers if worker["resources"].get(resource))
        if not holding:
            raise InputError(
                "scheduler", f"a worker with the resource '{resource}'", f"{len(workers)} without",
                f'start one with `dask worker ... --resources "{resource}=1"`',
            )  # fmt: skip
        return holding

    def _run(self, chunks: Sequence[Chunk], workers: int) -> Iterator[list[Record]]:
        """Results in order of arrival.

        Few chunks are out at a time, since Dask attributes a lost worker to all that it was
        given. What several workers were lost on runs again at the end: each candidate alone.
        """
        suspects: list[Chunk] = []
        for records, lost in self._arrivals(chunks, IN_FLIGHT * workers):
            suspects += [part for chunk in lost for part in chunk.singly()]
            yield records
        for suspect in suspects:
            for records, lost in self._arrivals([suspect], 1):
                yield [*records, *(self._lost(chunk.benchmarks[0]) for chunk in lost)]

    def _arrivals(
        self, chunks: Sequence[Chunk], most: int
    ) -> Iterator[tuple[list[Record], list[Chunk]]]:
        """Records that arrived together, and the chunks that several workers were lost on.

        Futures end with the run, also where it is interrupted.
        """
        from distributed import KilledWorker, as_completed  # noqa: PLC0415  (an extra: [farm])

        queue = iter(chunks)
        out: dict[object, tuple[Future[tuple[Record, ...]], Chunk]] = {}

        def submit(chunk: Chunk) -> Future[tuple[Record, ...]]:
            future = self._client.submit(
                self._measure, chunk, self._setting, pure=False,
                resources={self._setting.resource: 1},
            )  # fmt: skip
            out[future.key] = future, chunk
            return future

        try:
            arriving = as_completed(
                [submit(chunk) for chunk in islice(queue, most)], loop=self._client.loop,
                with_results=True, raise_errors=False,
            )  # fmt: skip
            for batch in arriving.batches():
                for chunk in islice(queue, len(batch)):
                    arriving.add(submit(chunk))
                records: list[Record] = []
                lost: list[Chunk] = []
                for future, result in batch:
                    _, chunk = out.pop(future.key)
                    error = None if future.status == "finished" else future.exception()
                    if isinstance(error, KilledWorker):
                        lost.append(chunk)
                    elif error is not None:
                        raise error
                    else:  # what was lost with its worker has been computed again
                        records += result or future.result()
                yield records, lost
        finally:
            if out:
                self._client.cancel([future for future, _ in out.values()], force=True)

    def _lost(self, benchmark: Benchmark) -> Record:
        return Record(
            key=self.key(benchmark),
            target_fingerprint=self.place.fingerprint(benchmark),
            iree_version=self._setting.iree_version,
            flags=benchmark.flags,
            text=benchmark.text,
            outcome=Outcome.RUN_CRASH.value,
            samples_ns=(),
            reason="several workers were lost while they measured it",
            provenance=Provenance(self._setting.command, utc(datetime.now(UTC)), "farm"),
        )

    def close(self) -> None:
        """End the connection; workers stay."""
        self._client.close()


def connect(address: str) -> Client:
    """A client of the scheduler at `tcp://HOST:PORT`; InputError where none answers."""
    try:
        from distributed import Client  # noqa: PLC0415  (an extra: [farm])
    except ImportError:
        raise InputError(
            "--scheduler", "Dask beside this Python", "nothing", "pip install 'layoutopt[farm]'"
        ) from None
    if not _ADDRESS.fullmatch(address):
        raise InputError(
            "--scheduler", "an address as tcp://HOST:8786", f"'{address}'", "check the address"
        )
    try:
        return Client(address, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            address, "a Dask scheduler that answers", type(error).__name__,
            "start one with `dask scheduler` and check the address",
        ) from None  # fmt: skip


def _measurement(record: Record) -> Measurement:
    return Measurement(Outcome(record.outcome), record.samples_ns, record.reason)
