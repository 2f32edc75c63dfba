"""The model as it came, compiled with each of its sets of flags while a plan is made.

What is compared with a plan does not depend on it, and cores are idle where candidates are
enumerated, and where they wait for each other: at the end of each round of compiling, and while the
next is asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from layoutopt.files.closing import Closing
from layoutopt.runtime.behind import Behind, can_run_behind
from layoutopt.runtime.compile import CompileOutcome, compile_file
from layoutopt.verification.evaluated import Variant

COMPILED_AT_ONCE = 2
_TIMES_LONGER = 5
"""Than the plan and the original by default a flag set may compile; some take 20 times as long."""
_SHORTEST_LIMIT_S = 60.0


@dataclass
class Limit:
    """How long a variant may compile: some times as long as others took, or take by now.

    The ``first`` ones, by name, may ``most_s``.
    """

    most_s: float
    first: Sequence[str]
    _started: dict[str, float] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)

    def compile(
        self, variant: Variant, output: Path, behind: Behind | None = None
    ) -> CompileOutcome:
        """Compile a variant within its limit."""
        limit_s = self.most_s
        if self._seconds and variant.name not in self.first:
            now = time.monotonic()
            slowest = max(self._seconds.get(n, now - s) for n, s in self._started.items())
            limit_s = min(limit_s, max(_SHORTEST_LIMIT_S, _TIMES_LONGER * slowest))
        self._started[variant.name] = time.monotonic()
        outcome = compile_file(variant.source, output, variant.flags, limit_s, behind)
        if outcome.ok:
            self._seconds[variant.name] = outcome.seconds
        return outcome


class CompiledAhead(Closing):
    """Compiles variants one after another from `start` on, behind all else."""

    def __init__(self, variants: Sequence[Variant], folder: Path, timeout_s: float) -> None:
        """``folder``: modules are written to it, named as `module_of` says."""
        self._work = [(v, module_of(folder, place)) for place, v in enumerate(variants)]
        self._limit = Limit(timeout_s, [v.name for v in variants[:1]])
        self._pool = ThreadPoolExecutor(1)
        self._behind = Behind()
        self._started: dict[tuple[Path, tuple[str, ...]], Future[CompileOutcome]] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin, once; where the system can't keep it behind all else, do nothing."""
        with self._lock:
            if self._started or not can_run_behind():
                return
            for variant, output in self._work:
                self._started[output, variant.flags] = self._pool.submit(
                    self._limit.compile, variant, output, self._behind
                )

    def outcome(self, variant: Variant, output: Path) -> CompileOutcome | None:
        """How a variant compiled, once it has; None, and it never will, where it was not begun."""
        future = self._started.get((output, variant.flags))
        if future is None or future.cancel():
            return None
        self._behind.hurry()
        try:
            return future.result()
        except CancelledError:
            return None

    def close(self) -> None:
        """End what still runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._behind.end()
        self._pool.shutdown()


def module_of(folder: Path, place: int) -> Path:
    """The compiled module of the variant at a place."""
    return folder / f"variant{place}.vmfb"
