"""The optimized module as a whole: compiled, run against the original, timed, the faster kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutopt.errors import LoweringError, RefusedModuleError
from layoutopt.evaluated import OPTIMIZED, Evaluation
from layoutopt.evaluation import Setting, evaluate_variants, variants_of
from layoutopt.host_check import check_on_host
from layoutopt.modules import Modules
from layoutopt.options import Options
from layoutopt.oracle_reference import oracle_run
from layoutopt.profiles.store import cache_folder
from layoutopt.profiles.target import FlagSet, Target
from layoutopt.runtime.compile import compile_file
from layoutopt.steps import Clock
from layoutopt.verified import Verification, not_run


@dataclass(frozen=True, slots=True)
class Held:
    """What came of holding one module against the other."""

    verification: Verification
    evaluation: Evaluation | None = None

    @property
    def winner(self) -> str:
        """The fastest module; the plan wins ties, and where nothing was timed."""
        if self.evaluation is None:
            return OPTIMIZED
        best = self.evaluation.best_original
        mine = self.evaluation.result(OPTIMIZED).milliseconds
        if best is None or best.milliseconds is None:
            return OPTIMIZED
        return best.name if mine is None or best.milliseconds < mine else OPTIMIZED


def hold_against_original(modules: Modules, target: Target, options: Options, clock: Clock) -> Held:
    """Run both where the target is here; else compile both, and compare them on this machine's CPU.

    Raises LoweringError where the optimized module does not compile or gives other results.
    """
    if not modules.graphs:
        return Held(Verification("", ()))
    if target.measurable:
        with clock.stage("verify and time"):
            evaluation = _evaluate(modules, target, options)
        held = Held(evaluation.verification, evaluation)
    else:
        with clock.stage("compile"):
            _compile_only(modules, options)
        held = Held(not_run(modules.subjects, "--no-verify was given"))
        if options.verify:
            with clock.stage("verify on this CPU"):
                held = Held(check_on_host(modules, target, options))
    for function in held.verification.functions:
        if function.failure:
            raise LoweringError(
                f"{modules.model}: function '{function.name}'",
                f"the results of {held.verification.reference} up to {function.tolerance:.2g}",
                function.failure,
                "raise --tolerance if the model amplifies rounding, else report this as a bug",
            )
    return held


@dataclass(frozen=True, slots=True)
class OriginalRefused:
    """IREE does not compile the model as it came."""

    reason: str
    remedy: str
    """The set of flags that it compiles with after all; empty where there is none."""


def refusal_of_original(
    source: Path, phase_flags: Sequence[str], target: Target, folder: Path, timeout_s: float
) -> OriginalRefused | None:
    """Why IREE does not compile the model as it came with its default flags, if it does not."""
    reason = ""
    for place, flag_set in enumerate(target.flag_sets):
        output = folder / f"variant{place}.vmfb"
        if output.exists():
            return _refused(reason, flag_set)
        flags = (*phase_flags, *target.flags, *flag_set.flags)
        outcome = compile_file(source, output, flags, timeout_s)
        if outcome.ok:
            return _refused(reason, flag_set)
        reason = reason or outcome.reason
    return OriginalRefused(reason, "")


def _refused(reason: str, works: FlagSet) -> OriginalRefused | None:
    """Where the first set of flags that works is not the default one."""
    return OriginalRefused(reason, works.name) if reason else None


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
    setting = Setting(
        target.device,
        options.threads,
        target.fingerprint,
        options.compile_timeout_s,
        archives=modules.archives,
    )
    return evaluate_variants(
        variants,
        modules.subjects,
        modules.folder,
        cache_folder(options.cache) / "models" if options.remember else None,
        setting,
        lambda: oracle_run(source, modules.folder, modules.archives, options.compile_timeout_s),
    )


def _compile_only(modules: Modules, options: Options) -> None:
    """Compile what cannot be run: for a target that is not here, or without inputs to give it."""
    output = modules.folder / "optimized.vmfb"
    outcome = compile_file(modules.optimized, output, modules.flags, options.compile_timeout_s)
    if not outcome.ok:
        raise RefusedModuleError(outcome.reason, outcome.dispatches, tuple(outcome.errors))
