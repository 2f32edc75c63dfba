"""Hold the optimized module against the original: equal results first, then time.

Both run on the same inputs; all modules are timed in turns in one process, so that drift of the
machine affects all of them. Results are remembered by the content of both modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from layoutopt.errors import RefusedModuleError
from layoutopt.profiles.store import utc
from layoutopt.profiles.target import FlagSet
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.model import Caller, RunSetting, list_functions
from layoutopt.runtime.tool_pool import tool_pool
from layoutopt.verification.ahead import COMPILED_AT_ONCE, CompiledAhead, Limit, module_of
from layoutopt.verification.comparing import (
    Compared,
    Run,
    compare_function,
    packed,
    run_on,
)
from layoutopt.verification.discrepancy import discrepancy
from layoutopt.verification.evaluated import (
    OPTIMIZED,
    Evaluation,
    Variant,
    VariantResult,
    content_key,
    recall,
    remember,
)
from layoutopt.verification.timing import Timing, not_timed, time_variants
from layoutopt.verification.verified import (
    ON_CPU,
    ORACLE,
    ORIGINAL,
    FunctionVerified,
    Subject,
    Verification,
)


@dataclass(frozen=True, slots=True)
class EvaluationSetting:
    """Where modules are compiled and run, and where what came of it is kept."""

    run: RunSetting
    fingerprint: str
    """Of the target."""
    compile_timeout_s: float
    memory: Path | None = None
    """Folder of remembered results, if any."""
    since: str = ""
    """What is remembered from before this moment (UTC, ISO 8601) does not count."""
    timed: bool = True
    peers: tuple[Variant, ...] = ()
    """Other runtimes, each with the ONNX model that it runs, to time in the same turns."""
    ahead: CompiledAhead | None = None
    """What compiles the original's flag sets already, if anything does."""
    on_cpu: Callable[[Path], Run | None] | None = None
    """Where modules run on another device: the original on this machine's CPU, with its module in a
    folder. It is asked where the device computes something else of original and plan."""


def originals_of(
    original: Path, phase_flags: tuple[str, ...], base: tuple[str, ...], sets: Sequence[FlagSet]
) -> tuple[Variant, ...]:
    """The original with each flag set."""
    return tuple(Variant(s.name, original, (*phase_flags, *base, *s.flags)) for s in sets)


def variants_of(
    original: Path,
    phase_flags: tuple[str, ...],
    base: tuple[str, ...],
    sets: Sequence[FlagSet],
    optimized: Path,
    optimized_flags: tuple[str, ...],
) -> tuple[Variant, ...]:
    """The original with each flag set, then the optimized module."""
    return (
        *originals_of(original, phase_flags, base, sets),
        Variant(OPTIMIZED, optimized, optimized_flags),
    )


def evaluate_variants(
    variants: Sequence[Variant],
    subjects: Sequence[Subject],
    folder: Path,
    setting: EvaluationSetting,
    oracle: Callable[[], Run],
    unusable: str = "",
) -> Evaluation:
    """Compile, compare and time, with the modules in ``folder``.

    ``oracle``: gives what computes the original's results where IREE compiles it with no flags.
    ``unusable``: why the optimized module is left out; only the original's flag sets are timed.
    Raises RefusedModuleError where IREE does not compile the optimized module.
    """
    memory = None if unusable else setting.memory
    key = content_key(variants, subjects, setting.run, setting.fingerprint)
    known = None if memory is None else recall(memory / f"{key}.json")
    if known is not None and known.date_utc >= setting.since:
        return known
    tried = [v for v in variants if not unusable or v.name != OPTIMIZED]
    compiled, failures = _compile(tried, folder, setting)
    if unusable:
        failures[OPTIMIZED] = unusable
    with Caller(setting.run) as caller:
        run = {name: run_on(path, caller) for name, path in compiled.items()}
        run |= {p.name: run_on(p.source, caller, p.name) for p in setting.peers}
        reference = _reference(variants, compiled, run, failures, oracle)
        before = dict(failures)
        verified = _verify(compiled, run, subjects, failures, reference)
        if setting.on_cpu is not None and verified.verification.is_in_doubt:
            other = _on_cpu(setting.on_cpu(folder), verified, setting.run.device)
            again = None if other is None else _verify(compiled, run, subjects, before, other)
            if again is not None and again.verification.tells_more_than(verified.verification):
                verified, failures = again, before
        verification, timings, notes = verified.verification, verified.timings, verified.notes
    results: tuple[VariantResult, ...] = ()
    everyone = (*variants, *setting.peers)
    if verification.passed and timings and setting.timed:
        working = {name: path for name, path in compiled.items() if name not in failures}
        working |= {p.name: p.source for p in setting.peers if p.name not in failures}
        names = {p.name for p in setting.peers}
        results = time_variants(everyone, names, working, timings, failures, setting.run)
    elif verification.passed:
        reason = "no function of it could be run" if setting.timed else "it is not timed here"
        results = not_timed(everyone, failures, reason)
    own, peers = results[: len(variants)], results[len(variants) :]
    noted = tuple(replace(p, reason=p.reason or notes.get(p.name, "")) for p in peers)
    evaluation = Evaluation(own, verification, utc(datetime.now(UTC)), noted)
    if verification.passed and memory is not None:
        remember(memory, key, evaluation)
    return evaluation


def _compile(
    variants: Sequence[Variant], folder: Path, setting: EvaluationSetting
) -> tuple[dict[str, Path], dict[str, str]]:
    """Modules by name, and why others failed. Raises RefusedModuleError for the optimized one.

    It goes first: how long it and the first of the original take says how long the others may. What
    another attempt compiled of the original is in ``folder`` and stays.
    """
    compiled: dict[str, Path] = {}
    failures: dict[str, str] = {}
    waiting: list[tuple[Variant, Path]] = []
    for place, variant in sorted(enumerate(variants), key=lambda v: v[1].name != OPTIMIZED):
        output = module_of(folder, place)
        if variant.name != OPTIMIZED and output.exists():
            compiled[variant.name] = output
        else:
            waiting.append((variant, output))
    first = [variant.name for variant, _ in waiting[:COMPILED_AT_ONCE]]
    limit = Limit(setting.compile_timeout_s, first)

    def outcome_of(variant: Variant, output: Path) -> CompileOutcome:
        known = None if setting.ahead is None else setting.ahead.outcome(variant, output)
        return known or limit.compile(variant, output)

    with tool_pool(COMPILED_AT_ONCE) as pool:
        pending = [(v, output, pool.submit(outcome_of, v, output)) for v, output in waiting]
        for variant, output, future in pending:
            outcome = future.result()
            if outcome.ok:
                compiled[variant.name] = output
            elif variant.name == OPTIMIZED:
                pool.shutdown(cancel_futures=True)  # what runs is of the original, and stays
                named = (outcome.dispatches, tuple(outcome.errors))
                raise RefusedModuleError(outcome.reason, *named)
            else:
                failures[variant.name] = outcome.reason
    return {v.name: compiled[v.name] for v in variants if v.name in compiled}, failures


@dataclass(frozen=True)
class _Reference:
    """What results are compared with."""

    run: Run
    said: str
    """What failures call it."""
    label: str
    """What the verification calls it."""
    variant: str | None = None
    """The set of flags of the original that it is; None where it is none of these."""
    reason: str = ""
    """Why it is no set of flags of the original."""


@dataclass(frozen=True)
class _Verified:
    """What came of comparing all functions, and what there is to time."""

    verification: Verification
    timings: list[Timing] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    """What results of peers differ by: they round as they like."""


def _reference(
    variants: Sequence[Variant],
    compiled: Mapping[str, Path],
    run: Mapping[str, Run],
    failures: Mapping[str, str],
    oracle: Callable[[], Run],
) -> _Reference | None:
    """The first set of flags that the original compiles with, else the oracle.

    None where nothing compiles.
    """
    if not compiled:
        return None
    name = next((v.name for v in variants if v.name in compiled and v.name != OPTIMIZED), None)
    if name is not None:
        return _Reference(run[name], "the original", ORIGINAL, name)
    return _Reference(oracle(), "the oracle", ORACLE, reason=failures[variants[0].name])


def _on_cpu(run: Run | None, verified: _Verified, device: str) -> _Reference | None:
    """The original on this machine's CPU, where what a device makes of it says too little."""
    if run is None:
        return None
    functions = verified.verification.functions
    failed = next((f.failure for f in functions if f.failure), "")
    reason = f"on {device}, one of original and plan is computed wrong: {failed}"
    if not failed:
        excuse = next(why for f in functions for why in f.excuses)
        reason = f"on {device}, the plan gives other results, and {excuse}"
    return _Reference(run, "the original on this machine's CPU", ON_CPU, reason=reason)


def _verify(
    compiled: Mapping[str, Path],
    run: Mapping[str, Run],
    subjects: Sequence[Subject],
    failures: dict[str, str],
    reference: _Reference | None,
) -> _Verified:
    """Compare every function; IREE's own flag sets that give other results join ``failures``.

    Peers that fail join them too; what the others differ by is a note: they round as they like.
    """
    if reference is None:
        return _Verified(Verification("", ()))
    peers = {name for name in run if name not in compiled}
    notes: dict[str, str] = {}
    declaring = reference.variant or next(iter(compiled))
    signatures = {s.name: s for s in list_functions(compiled[declaring])}
    plan = run.get(OPTIMIZED, reference.run)  # without one, the original's own results
    found: list[FunctionVerified] = []
    timings: list[Timing] = []
    for subject in subjects:
        declared = signatures.get(subject.name)
        compared = compare_function(subject, declared, reference.run, plan, reference.said)
        found.append(compared.verified)
        if compared.inputs is None:
            continue
        whole = sum(timed.weight for timed in compared.timed)
        timings += [
            Timing(
                subject.name,
                t.inputs,
                packed(subject, t.inputs),
                t.weight / whole,
                place == 0,
                t.point,
            )
            for place, t in enumerate(compared.timed)
        ]
        left_out = (reference.variant, OPTIMIZED, *failures)
        others = {n: r for n, r in run.items() if n not in left_out}
        said = reference.variant or reference.said
        failed, differing = _failing(subject, compared, others, said)
        failures |= failed | {n: text for n, text in differing.items() if n not in peers}
        notes |= {n: text for n, text in differing.items() if n in peers}
    verification = Verification("", ())
    if OPTIMIZED in run:
        label, reason = reference.label, reference.reason
        verification = Verification(label, tuple(found), reference_reason=reason)
    return _Verified(verification, timings, notes)


def _failing(
    subject: Subject, compared: Compared, others: dict[str, Run], reference: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Of those that fail, why; of those that give other results, what these differ by."""
    failed: dict[str, str] = {}
    differing: dict[str, str] = {}
    assert compared.inputs is not None
    for name, run in others.items():
        (results,) = run(subject.name, [compared.inputs])
        if results.reason:
            failed[name] = results.reason
            continue
        found = discrepancy(
            results.arrays, compared.expected, subject.allowed, f"'{reference}'"
        ).failure
        if found:
            differing[name] = f"results differ from '{reference}': {found}"
    return failed, differing
