"""IREE's input conversion: from any dialect that it reads to linalg on tensors."""

from __future__ import annotations

from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.errors import InputError
from layoutopt.runtime.compile import Phase, compile_to


def to_linalg(
    path: Path, linalg: Path, dialect: str, flags: tuple[str, ...], timeout_s: float
) -> str:
    """Write a module as linalg, in bytecode; why IREE does not, empty where it does."""
    flags = (*flags, *quirks().flags.input_types.get(dialect, ()), "--emit-mlir-bytecode")
    return compile_to(path, Phase.INPUT, linalg, flags, timeout_s).reason


def not_converted(model: Path, reason: str) -> InputError:
    """What a user reads of a model that stays what it was."""
    return InputError(
        str(model),
        "a model that IREE brings to linalg",
        reason,
        "try `iree-compile --compile-to=input` on it",
    )
