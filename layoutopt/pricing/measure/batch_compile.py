"""Compile batches side by side; where one fails, find the candidates that cause it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from layoutopt.pricing.measure.batch import (
    Batch,
    BatchModule,
    place_of_executable,
    split,
    write_module,
)
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.outcome import Measurement, Outcome
from layoutopt.runtime.tool_pool import tool_pool

Compile = Callable[[Path, Path, tuple[str, ...], float], CompileOutcome]


@dataclass(frozen=True)
class Compiled:
    """A batch and the module that came out of it."""

    batch: Batch
    module: Path


@dataclass(frozen=True)
class Refused:
    """A candidate, alone in its batch, that the compiler does not take."""

    batch: Batch
    measurement: Measurement


@dataclass(frozen=True)
class _Attempt:
    batch: Batch
    module: Path
    outcome: CompileOutcome
    text: BatchModule


class BatchCompiler:
    """Compiles into `folder`, `jobs` at a time; a candidate alone gets about `timeout_s`.

    `compile_batch` tells what compiles a batch.
    """

    def __init__(
        self, compile_batch: Callable[[Batch], Compile], folder: Path, jobs: int, timeout_s: float
    ) -> None:
        self._compile_batch = compile_batch
        self._folder = folder
        self._jobs = jobs
        self._timeout_s = timeout_s
        self._numbers = count()

    def run(self, batches: Sequence[Batch]) -> Iterator[Compiled | Refused]:
        """Yield modules and refusals as they come; together they cover every candidate once."""
        with tool_pool(self._jobs) as pool:
            pending = {self._submit(pool, batch) for batch in sorted(batches, key=_largest_first)}
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    attempt = future.result()
                    if attempt.outcome.ok:
                        yield Compiled(attempt.batch, attempt.module)
                        continue
                    refused = _refused(attempt)
                    yield from refused.values()
                    left = [p for p in range(len(attempt.batch.benchmarks)) if p not in refused]
                    idle = max(1, self._jobs - len(pending))
                    parts = attempt.batch.part(left).cut(idle) if refused else split(attempt.batch)
                    pending |= {self._submit(pool, part) for part in parts}

    def _submit(self, pool: ThreadPoolExecutor, batch: Batch) -> Future[_Attempt]:
        return pool.submit(self._attempt, batch, next(self._numbers))

    def _attempt(self, batch: Batch, number: int) -> _Attempt:
        module = write_module(batch)
        source = self._folder / f"batch{number}.mlir"
        output = source.with_suffix(".vmfb")
        source.write_text(module.text)
        try:
            limit_s = self._timeout_s * (1 + len(batch.benchmarks) / 8)
            outcome = self._compile_batch(batch)(source, output, batch.flags, limit_s)
        finally:
            source.unlink(missing_ok=True)
        return _Attempt(batch, output, outcome, module)


def _largest_first(batch: Batch) -> int:
    """What takes longest starts first, so that the cores end together."""
    return -batch.length


def _refused(attempt: _Attempt) -> dict[int, Refused]:
    """The candidates that cause it, by place: those that errors point at, or the only one."""
    outcome = attempt.outcome
    reasons: dict[int, str] = {}
    if len(attempt.batch.benchmarks) == 1:
        reasons[0] = outcome.reason
    elif outcome.outcome is Outcome.COMPILE_ERROR:
        found = [(attempt.text.function_at(line), why) for line, why in outcome.errors.items()]
        found += [(place_of_executable(name), why) for name, why in outcome.executables.items()]
        for place, reason in found:
            if place is not None:
                reasons.setdefault(place, reason)
    return {
        place: Refused(attempt.batch.part([place]), Measurement(outcome.outcome, (), reason))
        for place, reason in reasons.items()
    }
