"""For a target that is not here: compile both modules and count dispatches in IREE's own form."""

from __future__ import annotations

import re
from pathlib import Path

from layoutopt.errors import LoweringError
from layoutopt.runtime.compile import compile_file, compile_to

Compiled = tuple[Path, tuple[str, ...]]
"""A module and the flags it is compiled with."""


def compile_both(
    original: Compiled, optimized: Compiled, folder: Path, timeout_s: float
) -> tuple[int | None, int | None]:
    """Dispatches before and after, None where IREE does not compile the original.

    Raises LoweringError where it does not compile the optimized module.
    """
    outcome = compile_file(optimized[0], folder / "optimized.vmfb", optimized[1], timeout_s)
    if not outcome.ok:
        raise LoweringError(
            "the optimized module",
            "one that iree-compile takes",
            outcome.reason,
            "report this as a bug of layoutopt",
        )
    before, after = (_dispatches(*c, folder, timeout_s) for c in (original, optimized))
    return before, after


def _dispatches(path: Path, flags: tuple[str, ...], folder: Path, timeout_s: float) -> int | None:
    flow = folder / f"{path.stem}.flow.mlir"
    if not compile_to(path, "flow", flow, flags, timeout_s).ok:
        return None
    with flow.open(encoding="utf-8", errors="replace") as lines:
        return sum(1 for line in lines if re.search(r"= flow\.dispatch @", line[:4000]))
