"""What travels to a worker of the farm and what comes back."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from layoutopt.errors import InputError
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting, Place
from layoutopt.pricing.measure.setting import place_of
from layoutopt.profiles.store import Store, cache_folder
from layoutopt.profiles.store_record import Record
from layoutopt.profiles.target import machine_fingerprint
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.version import iree_version

FOLDER = "farm"


@dataclass(frozen=True, slots=True)
class ChunkSetting:
    """Where and how to measure: the same for all chunks of a run."""

    target_fingerprint: str
    device: str
    threads: int
    iree_version: str
    machine: str
    """Fingerprint of the machine whose prices these are to be; empty where the device counts."""
    command: str
    protocol: Protocol = field(default_factory=Protocol)

    @property
    def place(self) -> Place:
        """What stands in the keys of its prices."""
        return place_of(self.target_fingerprint, self.device, self.threads, self.protocol)

    @property
    def resource(self) -> str:
        """The Dask resource that a worker with such a device declares: the name of its driver."""
        return self.device.partition("://")[0]


@dataclass(frozen=True)
class Chunk:
    """Candidates that one worker measures together. `groups` run along: who competes with whom."""

    benchmarks: tuple[Benchmark, ...]
    groups: tuple[int, ...]

    def singly(self) -> tuple[Chunk, ...]:
        """Each candidate in a chunk of its own."""
        return tuple(
            Chunk((benchmark,), (group,))
            for benchmark, group in zip(self.benchmarks, self.groups, strict=True)
        )


def setting(
    target_fingerprint: str, device: str, threads: int, protocol: Protocol
) -> ChunkSetting:  # fmt: skip
    """The setting of a run that this process starts; a CPU's prices bind workers to its kind."""
    machine = machine_fingerprint() if device.startswith("local") else ""
    command = shlex.join((Path(sys.argv[0]).name, *sys.argv[1:]))
    return ChunkSetting(
        target_fingerprint, device, threads, iree_version(), machine, command, protocol
    )


def measure_chunk(chunk: Chunk, setting: ChunkSetting) -> tuple[Record, ...]:
    """Measure on this machine, with the code that measures without a farm, and return records.

    Results are kept in a store of the machine too, so that a worker that was lost and comes back
    measures nothing twice; its lock lets one worker of a machine time at once.
    """
    if setting.iree_version != iree_version():
        raise InputError("worker", f"IREE {setting.iree_version}", iree_version(),
                         "install the same version on every machine")  # fmt: skip
    if setting.machine and setting.machine != machine_fingerprint():
        raise InputError("worker", "a processor like that of the machine that asks", "another one",
                         "measure each kind of processor by itself")  # fmt: skip
    here = MeasureSetting(
        setting.target_fingerprint,
        setting.device,
        setting.threads,
        protocol=setting.protocol,
        command=setting.command,
    )
    with Store(_folder() / "prices.sqlite") as store, Measurer(store, here) as measurer:
        measurer.measure(chunk.benchmarks, group=chunk.groups)
        keys = [measurer.key(benchmark) for benchmark in chunk.benchmarks]
        return tuple(store.get_many(keys).values())


def chunks_of(
    benchmarks: Sequence[Benchmark], groups: Sequence[int], size: int
) -> tuple[Chunk, ...]:
    """Candidates of equal flags in chunks of at most about `size`, competitors together."""
    order = sorted(
        range(len(benchmarks)), key=lambda place: (benchmarks[place].flags, groups[place])
    )
    found: list[list[int]] = []
    for place in order:
        last = found[-1] if found else []
        fits = last and benchmarks[last[0]].flags == benchmarks[place].flags
        if fits and (len(last) < size or groups[last[-1]] == groups[place]):
            last.append(place)
        else:
            found.append([place])
    return tuple(
        Chunk(tuple(benchmarks[i] for i in part), tuple(groups[i] for i in part)) for part in found
    )


def _folder() -> Path:
    folder = cache_folder() / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a worker without a home
        return Path(tempfile.gettempdir()) / "layoutopt-farm"
    return folder
