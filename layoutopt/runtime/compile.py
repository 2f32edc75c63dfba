"""Compile one MLIR file with `iree-compile`, within a time limit, and say why where it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.runtime.behind import Behind
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.process import Ended, find_tool, run_tool
from layoutopt.runtime.reason import (
    errors_of_dumps,
    failure_reason,
    located_errors,
    refused_dispatches,
)

__all__ = [
    "CompileOutcome",
    "Phase",
    "compile_candidates",
    "compile_file",
    "compile_to",
    "find_tool",
    "for_candidates",
    "onwards_from",
    "run_tool",
    "up_to",
]

_OUTCOMES = {
    Ended.OK: Outcome.OK,
    Ended.ERROR: Outcome.COMPILE_ERROR,
    Ended.CRASH: Outcome.COMPILE_CRASH,
    Ended.TIMEOUT: Outcome.COMPILE_TIMEOUT,
    Ended.IDLE: Outcome.COMPILE_TIMEOUT,
}


class Phase(StrEnum):
    """Where a compilation can stop, as `iree-compile` names it."""

    INPUT = "input"
    TARGETS = "preprocessing"  # what each target is like is written out
    FLOW = "flow"
    STREAM = "stream"
    KERNELS = "executable-sources"  # before kernels are compiled
    HAL = "hal"  # kernels are compiled, and calls of them are written out


@dataclass(frozen=True, slots=True)
class CompileOutcome:
    """How a compilation ended."""

    ok: bool
    outcome: Outcome
    reason: str
    seconds: float
    errors: Mapping[int, str] = field(default_factory=dict)
    """Source lines (from 1) that its errors point at, with the first error of each."""
    dispatches: tuple[str, ...] = ()
    """The dispatches that its errors name."""
    executables: Mapping[str, str] = field(default_factory=dict)
    """Executables whose dumped code its errors point at, with the first error of each."""


def compile_file(
    source: Path,
    output: Path,
    flags: tuple[str, ...],
    timeout_s: float,
    behind: Behind | None = None,
) -> CompileOutcome:
    """Compile `source` to the module `output`. Where it fails, `output` is not left behind.

    ``behind``: those among which it takes cores that others leave, for a module that is only run
    and compared; None where it is no such tool.
    """
    own = quirks().flags
    more = () if behind is None else (*own.quick, *own.one_thread)
    return _compile(source, output, (*flags, *more), timeout_s, behind=behind)


def compile_candidates(
    source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
) -> CompileOutcome:
    """Like `compile_file`, for code that is only measured, with others compiling on each core."""
    return _compile(source, output, for_candidates(flags), timeout_s)


def for_candidates(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags with those that make the same code of linalg in less time, on one core."""
    own = quirks().flags
    return (*flags, *own.quick, *own.one_thread, *own.linalg)


def compile_to(
    source: Path,
    phase: Phase,
    output: Path,
    flags: tuple[str, ...],
    timeout_s: float,
    dumps: Path | None = None,
) -> CompileOutcome:
    """Compile up to a phase and write the MLIR text of that moment to `output`.

    ``dumps``: an empty folder for the code of kernels, their sources included; None leaves none.
    """
    flags = up_to(phase, flags)
    if dumps is not None:
        own = quirks().flags
        flags = (*flags, f"{own.dump}{dumps}", f"{own.dump_sources}{dumps}")
    return _compile(source, output, flags, timeout_s, dumps)


def up_to(phase: Phase, flags: Sequence[str]) -> tuple[str, ...]:
    """The flags with which a compilation stops behind a phase and writes MLIR text."""
    return (*flags, f"{quirks().flags.to_phase}{phase}")


def onwards_from(phase: Phase, flags: Sequence[str]) -> tuple[str, ...]:
    """The flags that compile to the end what these flags made up to a phase."""
    begins = quirks().flags.from_phase
    return (*(flag for flag in flags if not flag.startswith(begins)), f"{begins}{phase}")


def _compile(
    source: Path,
    output: Path,
    flags: Sequence[str],
    timeout_s: float,
    dumps: Path | None = None,
    behind: Behind | None = None,
) -> CompileOutcome:
    """What comes from importers is tried as the linalg that they make, then as it is."""
    own = quirks().flags
    if any(flag.startswith(own.from_phase) for flag in flags) and not {*own.linalg} & {*flags}:
        linalg = (*flags, *own.linalg)
        found = _compile_once(source, output, linalg, timeout_s, dumps, behind)
        if found.outcome is not Outcome.COMPILE_ERROR:
            return found
    return _compile_once(source, output, flags, timeout_s, dumps, behind)


def _compile_once(
    source: Path,
    output: Path,
    flags: Sequence[str],
    timeout_s: float,
    dumps: Path | None,
    behind: Behind | None,
) -> CompileOutcome:
    partial = output.with_name(output.name + ".partial")
    command = [find_tool("iree-compile"), str(source), *flags, "-o", str(partial)]
    try:
        run = run_tool(command, timeout_s, behind=behind)
        if run.ended is Ended.OK and partial.exists():
            partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)
    return CompileOutcome(
        ok=run.ended is Ended.OK,
        outcome=_OUTCOMES[run.ended],
        reason=failure_reason("iree-compile", run, timeout_s),
        seconds=run.seconds,
        errors=located_errors(run.stderr, dumps),
        dispatches=refused_dispatches(run.stderr),
        executables={} if dumps is None else errors_of_dumps(run.stderr, dumps),
    )
