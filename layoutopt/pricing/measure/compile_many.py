"""Compile candidates with a second function each, which launches its dispatches many times."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from layoutopt.mlir.write.many_launches import Launches, with_many_launches
from layoutopt.pricing.measure.batch import Batch, function_name
from layoutopt.pricing.measure.batch_compile import Compile
from layoutopt.runtime.compile import (
    CompileOutcome,
    Phase,
    compile_candidates,
    compile_to,
    onwards_from,
)
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.sampling import Protocol

_EXECUTABLE = re.compile(r"\s*stream\.executable \w+ @([\w$.-]+)")
"""Where one begins in a module whose commands are laid out."""


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
    launches: Launches, names: Collection[str], compile_rest: Compile = compile_candidates
) -> Compile:
    """What compiles like ``compile_rest`` does, with such launches of some functions, by name.

    Candidates whose commands were laid out are compiled to the end from there. Errors of that half
    are about executables, which have their candidate's name; its lines are not the source's.
    """

    def compile_one(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        started = time.monotonic()
        laid_out = source.with_suffix(f".{Phase.STREAM}.mlir")
        try:
            first = compile_to(source, Phase.STREAM, laid_out, flags, timeout_s)
            if not first.ok:
                return first
            try:
                text = with_many_launches(laid_out.read_text(encoding="utf-8"), launches, names)
            except ValueError as error:
                return replace(first, ok=False, outcome=Outcome.COMPILE_ERROR, reason=str(error))
            laid_out.write_text(text, encoding="utf-8")
            left_s = max(1.0, timeout_s - (time.monotonic() - started))
            rest = compile_rest(laid_out, output, onwards_from(Phase.STREAM, flags), left_s)
        finally:
            laid_out.unlink(missing_ok=True)
        executables = _executables_at(rest.errors, text)
        seconds = time.monotonic() - started
        return replace(rest, errors={}, executables=executables, seconds=seconds)

    return compile_one


def _executables_at(errors: Mapping[int, str], text: str) -> dict[str, str]:
    """The executables that errors point at, with an error of each; ``text``: their source.

    What is said of an op inside tells more than what is said of all of it.
    """
    starts = {
        number: found[1]
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := _EXECUTABLE.match(line))
    }
    lines = list(starts)
    named: dict[str, str] = {}
    for line, said in sorted(errors.items(), key=lambda error: (error[0] in starts, error[0])):
        place = bisect_right(lines, line) - 1
        if place >= 0:
            named.setdefault(starts[lines[place]], said)
    return named
