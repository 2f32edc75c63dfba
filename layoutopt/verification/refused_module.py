"""What is known of a module that IREE does not compile."""

from __future__ import annotations

from pathlib import Path

from layoutopt.errors import RefusedModuleError
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.refused_alone import refused_alone


def refused_module(
    outcome: CompileOutcome, source: Path, flags: tuple[str, ...], timeout_s: float
) -> RefusedModuleError:
    """The error of a compilation, with the dispatches that it names or that fail alone.

    ``timeout_s``: for finding these, where the compiler ended with no word of a place.
    """
    dispatches, lines = outcome.dispatches, tuple(outcome.errors)
    if not dispatches and not lines:
        dispatches = refused_alone(source, flags, timeout_s)
    return RefusedModuleError(outcome.reason, dispatches, lines)
