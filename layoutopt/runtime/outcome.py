"""What became of a candidate: its samples, or the reason why it was refused."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import Enum

from layoutopt.runtime.sampling import AGREEING, fastest_ns


class Outcome(Enum):
    """How measuring ended. Everything but OK is a refusal."""

    OK = "ok"
    COMPILE_ERROR = "compile-error"
    COMPILE_CRASH = "compile-crash"
    COMPILE_TIMEOUT = "compile-timeout"
    RUN_ERROR = "run-error"
    RUN_CRASH = "run-crash"
    RUN_TIMEOUT = "run-timeout"
    MISMATCH = "mismatch"

    @property
    def compiles(self) -> bool:
        """Whether there is a module that could be run."""
        uncompiled = (Outcome.COMPILE_ERROR, Outcome.COMPILE_CRASH, Outcome.COMPILE_TIMEOUT)
        return self not in uncompiled


@dataclass(frozen=True, slots=True)
class Measurement:
    """Time per call in nanoseconds, the cost of an empty call already taken off."""

    outcome: Outcome
    samples_ns: tuple[int, ...]
    reason: str = ""
    """Why it was refused; of what is OK, why its results were not checked, or how they differ."""
    held_bytes: int | None = None
    """Memory of the device that a call of a whole module has at most, arguments and weights aside;
    None where the device keeps no account, and of candidates."""

    @property
    def ok(self) -> bool:
        """The candidate compiled, ran and gave the expected numbers."""
        return self.outcome is Outcome.OK

    @property
    def median_ns(self) -> int:
        """Median time per call; asks for `ok`."""
        return round(statistics.median(self.samples_ns))

    @property
    def fastest_ns(self) -> int:
        """The price: mean of the three fastest samples; asks for `ok`."""
        return round(fastest_ns(self.samples_ns))

    @property
    def fastest_spread(self) -> float:
        """How far the fastest samples lie apart, relative to the fastest: 0.02 is 2 %."""
        fastest = sorted(self.samples_ns)[:AGREEING]
        return fastest[-1] / fastest[0] - 1.0 if fastest[0] else 0.0

    @property
    def spread(self) -> float:
        """Interquartile range over the median: 0.02 is 2 %. Zero with fewer than two samples."""
        if len(self.samples_ns) < 2:
            return 0.0
        low, median, high = statistics.quantiles(self.samples_ns, n=4, method="inclusive")
        return (high - low) / median if median else 0.0
