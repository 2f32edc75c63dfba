"""The module that is handed out, and what is counted on it and on the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from layoutopt.frontend.source import Source
from layoutopt.mlir.module import Module
from layoutopt.pricing.analytic.compiled.read_module import TRANSFERS
from layoutopt.pricing.analytic.compiled_kernels import Facts, Kernels
from layoutopt.profiles.target import Target
from layoutopt.verification.dispatch_count import Dispatches, dispatches_in
from layoutopt.verification.evaluated import Evaluation
from layoutopt.verification.planned_calls import Call


@dataclass(frozen=True)
class CompiledModules:
    """What one call runs of the module as it came, and of the one that was written."""

    before: Facts
    after: Facts
    at_sizes: tuple[tuple[float, Facts, Facts], ...] = ()
    """Where several sizes are planned for: the share of each, and the same at it."""

    @property
    def shares(self) -> tuple[tuple[float, Facts, Facts], ...]:
        """All calls, each with what it counts."""
        return self.at_sizes or ((1.0, self.before, self.after),)

    @property
    def is_priced(self) -> bool:
        """Whether both have a price: they compile, and the bytes of all their kernels are known."""
        return all(_is_priced(facts) for _, *pair in self.shares for facts in pair)

    @property
    def original_refused(self) -> str:
        """Why only the written module compiles, and has a price; empty where that is not so."""
        if self.before.timed_out or not all(_is_priced(after) for *_, after in self.shares):
            return ""
        return self.before.reason

    @property
    def dispatches(self) -> Dispatches:
        """Kernels on both sides; of a module that does not compile, none."""
        counts = [
            None if facts.reason else sum(step.name not in TRANSFERS for step in facts.steps)
            for facts in (self.before, self.after)
        ]
        how = "in the compiled module, each once"
        if None in counts:
            which = "the original" if counts[0] is None else "the module that was written"
            how = f"{how}; iree-compile does not take {which}"
        return Dispatches(counts[0], counts[1], how)


def _is_priced(facts: Facts) -> bool:
    known = (step.kernel is not None or step.transfer_bytes for step in facts.steps)
    return not facts.reason and all(known)


@dataclass(frozen=True)
class Written:
    """A module, the file that holds it while it is worked on, and how that is compiled."""

    module: Module
    path: Path
    flags: tuple[str, ...]
    variant: str
    """As the evaluation names it."""
    unrolled: Mapping[str, int] = field(default_factory=dict)
    """By block of a loop, how many steps a trip runs; those of one step are left out."""

    def compiled(
        self,
        source: Source,
        target: Target,
        kernels: Kernels,
        timeout_s: float,
        calls: Sequence[Call],
    ) -> CompiledModules:
        """What the modules before and after run, as IREE compiles them for the target.

        ``calls``: weights, and the shapes of arguments where sizes are open.
        """
        plain = (*source.phase_flags, *target.flags)
        shapes = [call for _, call in calls]
        before = kernels.module(source.path, plain, timeout_s, shapes)
        after = kernels.module(self.path, self.flags, timeout_s, shapes)
        total = sum(weight for weight, _ in calls)
        shares = (weight / total for weight, _ in calls)
        return CompiledModules(before[0], after[0], tuple(zip(shares, before, after, strict=True)))

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
