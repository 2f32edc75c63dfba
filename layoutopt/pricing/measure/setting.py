"""Where and how candidates are measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.runtime.sampling import Launching, Protocol, WeightsFrom


@dataclass(frozen=True, slots=True)
class Place:
    """Where a candidate is timed, and with what in its caches: what stands in its price's key."""

    target: str
    """Fingerprint of the target."""
    device: str = "local-sync"
    threads: int = 1
    weights_from: WeightsFrom = WeightsFrom.CACHES
    launching: Launching = field(default_factory=Launching)

    def fingerprint(self, benchmark: Benchmark) -> str:
        """That of one candidate; one without weights has the same price wherever weights are."""
        place = f"{self.target} {self.device} threads={self.threads}"
        if (launches := self.launching.of(benchmark.moved_bytes)) > 1:
            place += f" launches={launches}"
        if not benchmark.weights or self.weights_from is WeightsFrom.CACHES:
            return place
        return f"{place} weights={self.weights_from.value}"


def place_of(target: str, device: str, threads: int, protocol: Protocol) -> Place:
    """Where candidates are timed that way; ``target`` is its fingerprint."""
    return Place(target, device, threads, protocol.weights_from, protocol.launching)


@dataclass(frozen=True, slots=True)
class MeasureSetting:
    """Where and how one `Measurer` measures."""

    target: str
    """Fingerprint of the target."""
    device: str = "local-sync"
    threads: int = 1
    compile_jobs: int | None = None
    """Compilations side by side; None for one a core."""
    protocol: Protocol = field(default_factory=Protocol)
    batch_size: int = 16
    """Candidates in one module at most."""
    compile_timeout_s: float = 20.0
    run_timeout_s: float = 10.0
    since: str = ""
    """Times in the store from before this moment (UTC, ISO 8601) are taken anew; empty: none."""
    command: str = ""
    """What the store notes as the command line; empty for that of this process."""

    @property
    def place(self) -> Place:
        """What stands in the keys of its prices."""
        return place_of(self.target, self.device, self.threads, self.protocol)
