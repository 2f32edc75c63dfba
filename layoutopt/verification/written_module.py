"""The module that is handed out, and what is counted on it and on the original."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from layoutopt.frontend.source import Source
from layoutopt.mlir.module import Module
from layoutopt.profiles.target import Target
from layoutopt.verification.dispatch_count import Dispatches, dispatches_in
from layoutopt.verification.evaluated import Evaluation


@dataclass(frozen=True)
class Written:
    """A module, the file that holds it while it is worked on, and how that is compiled."""

    module: Module
    path: Path
    flags: tuple[str, ...]
    variant: str
    """As the evaluation names it."""

    def dispatches(
        self,
        source: Source,
        target: Target,
        evaluation: Evaluation | None,
        folder: Path,
        timeout_s: float,
    ) -> Dispatches:
        """Dispatches before and after: as a profiler saw them, else in the compiled modules."""
        if evaluation is not None:
            before = evaluation.variants[0].dispatches
            after = evaluation.result(self.variant).dispatches
            if before is not None and after is not None:
                return Dispatches(before, after, "calls in one run, seen by IREE's profiler")
        plain = (*source.phase_flags, *target.flags)
        old = dispatches_in(source.path, plain, folder, timeout_s)
        new = dispatches_in(self.path, self.flags, folder, timeout_s)
        how = "in the compiled module, each once"
        if old is None or new is None:
            which = "the original" if old is None else "the module that was written"
            how = f"{how}; iree-compile does not take {which}"
        return Dispatches(old, new, how)
