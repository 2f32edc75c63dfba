"""The optimized module as a whole: compiled, run against the original, timed, the faster kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutopt.errors import LoweringError, RefusedModuleError
from layoutopt.evaluated import OPTIMIZED, Evaluation
from layoutopt.evaluation import evaluate_variants, variants_of
from layoutopt.mlir.module import Signature
from layoutopt.options import Options
from layoutopt.profiles.store import cache_folder
from layoutopt.profiles.target import Target
from layoutopt.runtime.compile import compile_file
from layoutopt.source import Source
from layoutopt.steps import Clock


@dataclass(frozen=True, slots=True)
class Modules:
    """Original and optimized module, and how the functions of both are called."""

    model: Path
    """What the user gave, for messages."""
    source: Source
    optimized: Path
    flags: tuple[str, ...]
    """What the optimized module is compiled with."""
    signatures: Sequence[Signature]
    folder: Path
    """For intermediate files."""
    archives: Sequence[tuple[str, Path]] = ()
    """(scope, file) of the parameters that the modules leave outside."""


@dataclass(frozen=True, slots=True)
class Held:
    """What came of holding one module against the other."""

    evaluation: Evaluation | None = None

    @property
    def winner(self) -> str:
        """The fastest module; the plan wins ties, and where nothing was run."""
        if self.evaluation is None:
            return OPTIMIZED
        best = self.evaluation.best_original
        mine = self.evaluation.result(OPTIMIZED).milliseconds
        if best is None or best.milliseconds is None:
            return OPTIMIZED
        return best.name if mine is None or best.milliseconds < mine else OPTIMIZED


def hold_against_original(modules: Modules, target: Target, options: Options, clock: Clock) -> Held:
    """Run both where the target is here and there are inputs to give; else compile the plan.

    Raises LoweringError where the optimized module does not compile or gives other results.
    """
    if not target.measurable or not modules.signatures:
        with clock.stage("compile"):
            _compile_only(modules, options)
        return Held()
    with clock.stage("verify and time"):
        evaluation = _evaluate(modules, target, options)
    v = evaluation.verification
    if not v.passed:
        raise LoweringError(
            str(modules.model),
            f"results within {v.tolerance:g} of the original",
            f"a relative error of {v.max_rel_error:.3g}",
            "raise --tolerance if the model amplifies rounding, else report this as a bug",
        )
    return Held(evaluation)


def _evaluate(modules: Modules, target: Target, options: Options) -> Evaluation:
    source = modules.source
    variants = variants_of(
        source.path,
        source.phase_flags,
        target.flags,
        target.flag_sets,
        modules.optimized,
        modules.flags,
    )
    return evaluate_variants(
        variants,
        modules.signatures,
        modules.folder,
        cache_folder(options.cache) / "models" if options.remember else None,
        target.device,
        options.threads,
        options.tolerance,
        options.compile_timeout_s,
        target.fingerprint,
        modules.archives,
    )


def _compile_only(modules: Modules, options: Options) -> None:
    """Compile what cannot be run: for a target that is not here, or without inputs to give it."""
    output = modules.folder / "optimized.vmfb"
    outcome = compile_file(modules.optimized, output, modules.flags, options.compile_timeout_s)
    if not outcome.ok:
        raise RefusedModuleError(outcome.reason, outcome.dispatches)
