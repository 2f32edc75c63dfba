"""The optimized module as a whole: compiled, run against the original, timed, the faster kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.errors import LoweringError, RefusedModuleError
from layoutopt.frontend.source import Source
from layoutopt.options import Effort, Options
from layoutopt.pricing.analytic.compiled.read_module import DOES_NOTHING
from layoutopt.pricing.analytic.compiled_kernels import Facts, Kernels
from layoutopt.pricing.pricers import kernels_path
from layoutopt.profiles.store import cache_folder
from layoutopt.profiles.target import FlagSet, Target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.setting import RunSetting
from layoutopt.runtime.steps import Clock
from layoutopt.verification.ahead import module_of
from layoutopt.verification.evaluated import OPTIMIZED, Evaluation, Variant, VariantResult
from layoutopt.verification.evaluation import EvaluationSetting, evaluate_variants, originals_of
from layoutopt.verification.host_check import check_on_host
from layoutopt.verification.modules import Modules
from layoutopt.verification.oracle_reference import oracle_run
from layoutopt.verification.original_on_cpu import original_on_cpu
from layoutopt.verification.planned_calls import planned_calls
from layoutopt.verification.verified import Verification, not_run


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of the optimized module with the original."""

    verification: Verification
    evaluation: Evaluation | None = None
    kept: FlagSet | None = None
    """What the original is compiled with, where it is kept and nothing was timed."""
    kept_for: str = ""
    """Why the original is kept, where no times tell; else empty."""
    memory_bytes: int | None = None
    """What a call may hold; None for no bound."""

    @property
    def best_original(self) -> VariantResult | None:
        """The fastest of IREE's own flag sets on the original that holds no more than it may."""
        return None if self.evaluation is None else self.evaluation.best_within(self.memory_bytes)

    @property
    def winner(self) -> str:
        """The fastest module; the plan wins ties, and where nothing was timed."""
        if self.kept is not None:
            return self.kept.name
        if self.evaluation is None:
            return OPTIMIZED
        best = self.best_original
        mine = self.evaluation.result(OPTIMIZED).milliseconds
        if best is None or best.milliseconds is None:
            return OPTIMIZED
        return best.name if mine is None or best.milliseconds < mine else OPTIMIZED


def compare_with_original(
    modules: Modules, target: Target, options: Options, clock: Clock, since: str = ""
) -> Comparison:
    """Run both where the target is here; else compile both, and compare them on this machine's CPU.

    ``since``: what is remembered of the same modules counts where it is no older (UTC).
    Raises RefusedModuleError where IREE does not compile the optimized module, OtherResultsError
    where it computes something else.
    """
    if not modules.graphs:
        return Comparison(Verification("", ()))
    if target.measurable:
        with clock.stage("verify and time"):
            evaluation = _running(modules, target, options, since)
        most = evaluation.memory_bytes(options.memory_budget)
        held = Comparison(evaluation.verification, evaluation, memory_bytes=most)
        if most is not None and evaluation.verification.passed:
            check_memory(modules.model, evaluation.result(OPTIMIZED).held_bytes, most)
    else:
        with clock.stage("compile"):
            _compile_only(modules, target, options)
        held = Comparison(not_run(modules.subjects, "--no-verify was given"))
        if options.verify:
            with clock.stage("verify on this CPU"):
                held = Comparison(check_on_host(modules, target, options))
    for function in held.verification.functions:
        if function.failure:
            raise OtherResultsError(
                f"{modules.model}: function '{function.name}'",
                f"the results of {held.verification.reference} up to {function.tolerance:.2g}",
                function.failure,
                held.verification,
            )
    return held


class OtherResultsError(LoweringError):
    """The optimized module computes something else than the original."""

    def __init__(self, where: str, expected: str, got: str, verification: Verification) -> None:
        next_step = "raise --tolerance if the model amplifies rounding, else report this as a bug"
        super().__init__(where, expected, got, next_step)
        self.verification = verification


class OverMemoryError(LoweringError):
    """The optimized module holds more memory in a call than it may."""

    def __init__(
        self, model: Path, held_bytes: int, memory_bytes: int, whole_bytes: int | None = None
    ) -> None:
        super().__init__(
            f"{model}: --memory-budget",
            f"a module that holds {memory_bytes} bytes at most while a call runs",
            f"{held_bytes} of the plan that comes closest",
            "raise it",
        )
        self.share = memory_bytes / held_bytes
        """What there may be of what there is."""
        self.original_fits = whole_bytes is not None and whole_bytes <= memory_bytes
        """Whether the original, which holds ``whole_bytes``, is known to keep the budget."""


def check_memory(
    model: Path, held_bytes: int | None, memory_bytes: int | None, whole_bytes: int | None = None
) -> None:
    """Raises OverMemoryError where a module holds more than it may, as far as that is known.

    ``whole_bytes``: what the original holds, where nothing is timed.
    """
    if memory_bytes is not None and held_bytes is not None and held_bytes > memory_bytes:
        raise OverMemoryError(model, held_bytes, memory_bytes, whole_bytes)


def keep_original(
    modules: Modules, target: Target, options: Options, clock: Clock, error: LoweringError
) -> Comparison | None:
    """The original, with the fastest of IREE's own flag sets, where no plan can be used.

    None where IREE compiles it with none of them. `error`: what came of the last plan.
    """
    reason = f"iree-compile refused it: {error.got}"
    verification = Verification("", ())
    if isinstance(error, OverMemoryError):
        reason = f"it holds more memory than it may: {error.got}"
    if isinstance(error, OtherResultsError):
        reason = f"it gives other results: {error.got}; {error.next_step}"
        verification = error.verification
    evaluation = None
    if target.measurable:
        with clock.stage("verify and time"):
            evaluation = _evaluate(modules, target, options, reason)
        most = evaluation.memory_bytes(options.memory_budget)
        if evaluation.best_within(most) is not None:
            return Comparison(
                verification, evaluation, kept_for=_unusable(reason), memory_bytes=most
            )
    if isinstance(error, OverMemoryError) and not error.original_fits:
        return None
    source, limit_s = modules.source, options.compile_timeout_s
    with clock.stage("compile"):
        taken = flags_of_original(source.path, source.phase_flags, target, modules.folder, limit_s)
    return (
        None
        if taken.flag_set is None
        else Comparison(verification, evaluation, taken.flag_set, _unusable(reason))
    )


def _unusable(reason: str) -> str:
    return f"no plan could be used: {reason}"


@dataclass(frozen=True, slots=True)
class Taken:
    """How IREE compiles the model as it came."""

    flag_set: FlagSet | None
    """The first of its own sets of flags that works; None where none does."""
    reason: str
    """Why the default one does not; empty where it does."""


def flags_of_original(
    source: Path, phase_flags: Sequence[str], target: Target, folder: Path, timeout_s: float
) -> Taken:
    """Compile the model as it came, with one set of flags after another until one works."""
    reason = ""
    for place, flag_set in enumerate(target.flag_sets):
        output = module_of(folder, place)
        if output.exists():
            return Taken(flag_set, reason)
        flags = (*phase_flags, *target.flags, *flag_set.flags)
        outcome = compile_file(source, output, flags, timeout_s)
        if outcome.ok:
            return Taken(flag_set, reason)
        reason = reason or outcome.reason
    return Taken(None, reason)


def _running(modules: Modules, target: Target, options: Options, since: str) -> Evaluation:
    """The evaluation; without recorded commands where the original does not run with them."""
    evaluation = _evaluate(modules, target, options, since=since)
    if not evaluation.verification.original_fails:
        return evaluation
    more = quirks().flags.no_memoization
    folder = modules.folder / "anew"
    folder.mkdir(exist_ok=True)
    anew = replace(modules, flags=(*modules.flags, *more), folder=folder)
    other = _evaluate(anew, replace(target, flags=(*target.flags, *more)), options, since=since)
    if other.verification.original_fails:
        return evaluation
    return replace(other, verification=replace(other.verification, more_flags=more))


def originals(source: Source, target: Target, options: Options) -> tuple[Variant, ...]:
    """The model as it came, with each set of flags that a plan is timed beside."""
    sets = target.flag_sets[:1] if options.effort is Effort.QUICK else target.flag_sets
    return originals_of(source.path, source.phase_flags, target.flags, sets)


def _evaluate(
    modules: Modules, target: Target, options: Options, refused: str = "", since: str = ""
) -> Evaluation:
    source = modules.source
    optimized = Variant(OPTIMIZED, modules.optimized, modules.flags)
    variants = (*originals(source, target, options), optimized)
    setting = EvaluationSetting(
        RunSetting(target.device, options.threads, archives=modules.archives),
        target.place,
        options.compile_timeout_s,
        cache_folder(options.cache) / "models" if options.remember else None,
        since,
        peers=tuple(Variant(name, modules.model, ()) for name in options.peers),
        ahead=modules.ahead,
        on_cpu=None
        if target.device.startswith("local")
        else partial(original_on_cpu, source, modules.archives, options.compile_timeout_s),
    )
    return evaluate_variants(
        variants,
        modules.subjects,
        modules.folder,
        setting,
        lambda: oracle_run(source, modules.folder, modules.archives, options.compile_timeout_s),
        refused,
    )


def _largest(found: Sequence[Facts]) -> Facts:
    """Of several calls the one that holds the most memory, where that is known of all."""
    return max(found, key=lambda facts: math.inf if facts.held_bytes is None else facts.held_bytes)


def _compile_only(modules: Modules, target: Target, options: Options) -> None:
    """Compile what cannot be run: for a target that is not here, or without inputs to give it.

    Where kernels are priced, their code is read on the way, and kept.
    """
    limit_s = options.compile_timeout_s
    if options.compile_candidates and target.kernel_rates is not None:
        kernels = Kernels(kernels_path(options), target.place)
        calls = [call for _, call in planned_calls(modules.subjects)]
        found = kernels.module(modules.optimized, modules.flags, limit_s, calls)
        facts = next((one for one in found if one.reason), _largest(found))
        if not facts.reason:
            if options.memory_budget is not None:
                plain = (*modules.source.phase_flags, *target.flags)
                whole = _largest(
                    kernels.module(modules.source.path, plain, limit_s, calls)
                ).held_bytes
                most = options.memory_budget.size_bytes(whole or 0)
                if whole is not None or not options.memory_budget.percent:
                    check_memory(modules.model, facts.held_bytes, most, whole)
            return
        if facts.timed_out or facts.steps:  # it would hang again, or computes nothing
            culprits = [step.name for step in facts.steps if step.reason == DOES_NOTHING]
            raise RefusedModuleError(facts.reason, tuple(culprits))
    output = modules.folder / "optimized.vmfb"
    outcome = compile_file(modules.optimized, output, modules.flags, limit_s)
    if not outcome.ok:
        raise RefusedModuleError(outcome.reason, outcome.dispatches, tuple(outcome.errors))
