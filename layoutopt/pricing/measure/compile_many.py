"""Compile candidates with a second function each, which launches its dispatches many times."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

from layoutopt.mlir.write.many_launches import Launches, with_many_launches
from layoutopt.pricing.measure.batch import Batch, function_name
from layoutopt.pricing.measure.batch_compile import Compile
from layoutopt.runtime.compile import (
    CompileOutcome,
    Phase,
    compile_candidates,
    onwards_from,
    up_to,
)
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.sampling import Protocol


def compile_timed(protocol: Protocol, compile_one: Compile) -> Callable[[Batch], Compile]:
    """What compiles a batch by ``compile_one``, for candidates that are timed that way."""
    launches = Launches(protocol.launching.count, protocol.evict_bytes)

    def of(batch: Batch) -> Compile:
        names = [
            function_name(place)
            for place, benchmark in enumerate(batch.benchmarks)
            if protocol.launching.of(benchmark.moved_bytes) > 1
        ]
        return compile_many(launches, names, compile_one) if names else compile_one

    return of


def compile_many(
    launches: Launches, names: Collection[str], compile_part: Compile = compile_candidates
) -> Compile:
    """What compiles like ``compile_part`` does, with such launches of some functions, by name.

    All but the last phase comes ahead of them: what it refuses it refuses at lines of the source.
    """

    def compile_one(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        started = time.monotonic()
        calls = source.with_suffix(f".{Phase.HAL}.mlir")
        try:
            first = compile_part(source, calls, up_to(Phase.HAL, flags), timeout_s)
            if not first.ok:
                return first
            try:
                text = with_many_launches(calls.read_text(encoding="utf-8"), launches, names)
            except ValueError as error:
                return replace(first, ok=False, outcome=Outcome.COMPILE_ERROR, reason=str(error))
            calls.write_text(text, encoding="utf-8")
            left_s = max(1.0, timeout_s - (time.monotonic() - started))
            rest = compile_part(calls, output, onwards_from(Phase.HAL, flags), left_s)
        finally:
            calls.unlink(missing_ok=True)
        return replace(rest, errors={}, seconds=time.monotonic() - started)

    return compile_one
