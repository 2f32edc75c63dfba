"""Hold the optimized module against the original: equal results first, then time.

Both run on the same random inputs; all modules are timed in turns in one process, so that drift
of the machine hits them alike. Results are remembered by the content of both modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path

from layoutopt.data_movement import move_dispatches
from layoutopt.errors import InputError, RefusedModuleError
from layoutopt.evaluated import (
    OPTIMIZED,
    Evaluation,
    Variant,
    VariantResult,
    content_key,
    recall,
    remember,
)
from layoutopt.mlir.module import Signature
from layoutopt.profiles.target import FlagSet
from layoutopt.runtime.compile import CompileOutcome, compile_file
from layoutopt.runtime.model import (
    DispatchTime,
    dispatch_events,
    dispatch_times,
    time_models,
)
from layoutopt.runtime.tool_pool import tool_pool
from layoutopt.verification import Archives, random_inputs, verify

PROFILED_RUNS = 15
"""Runs of the optimized module under the profiler; of each call, the fastest count."""


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
        *(Variant(s.name, original, (*phase_flags, *base, *s.flags)) for s in sets),
        Variant(OPTIMIZED, optimized, optimized_flags),
    )


def evaluate_variants(
    variants: Sequence[Variant],
    functions: Sequence[Signature],
    folder: Path,
    memory: Path | None,
    device: str,
    threads: int,
    tolerance: float,
    compile_timeout_s: float,
    fingerprint: str,
    archives: Archives = (),
) -> Evaluation:
    """Compile, compare and time; ``memory`` is the folder of remembered results, if any.

    ``archives``: (scope, file) of the parameters that the modules leave outside.

    Raises LoweringError where the optimized module or every form of the original fails.
    """
    key = content_key(variants, device, threads, tolerance, fingerprint, archives)
    known = None if memory is None else recall(memory / f"{key}.json")
    if known is not None:
        return known
    compiled, failures = _compile(variants, folder, compile_timeout_s)
    if len(compiled) < 2:
        raise InputError(
            str(variants[0].source),
            "a model that iree-compile takes",
            next(iter(failures.values())),
            "compile it by hand first",
        )
    reference = next(v.name for v in variants if v.name in compiled)
    verification, working = verify(
        compiled, reference, functions, device, threads, tolerance, failures, archives
    )
    results = _time(variants, working, functions, failures, device, threads, archives)
    evaluation = Evaluation(results, verification, datetime.now(UTC).isoformat(timespec="seconds"))
    if verification.passed and memory is not None:
        remember(memory, key, evaluation)
    return evaluation


def _compile(
    variants: Sequence[Variant], folder: Path, timeout_s: float
) -> tuple[dict[str, Path], dict[str, str]]:
    """Modules by name, and why others failed. Raises RefusedModuleError for the optimized one.

    It goes first. What another attempt compiled of the original is in ``folder`` and stays.
    """
    compiled: dict[str, Path] = {}
    failures: dict[str, str] = {}
    with tool_pool(2) as pool:
        pending: list[tuple[Variant, Path, Future[CompileOutcome]]] = []
        for place, variant in sorted(enumerate(variants), key=lambda v: v[1].name != OPTIMIZED):
            output = folder / f"variant{place}.vmfb"
            if variant.name != OPTIMIZED and output.exists():
                compiled[variant.name] = output
                continue
            work = (variant.source, output, variant.flags, timeout_s)
            pending.append((variant, output, pool.submit(compile_file, *work)))
        for variant, output, future in pending:
            outcome = future.result()
            if outcome.ok:
                compiled[variant.name] = output
            elif variant.name == OPTIMIZED:
                raise RefusedModuleError(outcome.reason, outcome.dispatches)
            else:
                failures[variant.name] = outcome.reason
    return {v.name: compiled[v.name] for v in variants if v.name in compiled}, failures


def _time(
    variants: Sequence[Variant],
    working: dict[str, Path],
    functions: Sequence[Signature],
    failures: dict[str, str],
    device: str,
    threads: int,
    archives: Archives,
) -> tuple[VariantResult, ...]:
    """Results of all variants: times of each, dispatches of those that the report is about."""
    names = [v.name for v in variants if v.name in working]
    total = dict.fromkeys(names, 0.0)
    fastest = dict.fromkeys(names, 0.0)
    spread = dict.fromkeys(names, 0.0)
    for function in functions:
        models = [(working[n], function.name) for n in names]
        timed = time_models(models, random_inputs(function), device, threads, archives=archives)
        for name, measured in zip(names, timed, strict=True):
            if not measured.ok:
                failures[name] = measured.reason
                continue
            total[name] += measured.median_ns / 1e6
            fastest[name] += measured.fastest_ns / 1e6
            spread[name] = max(spread[name], measured.spread)
    left = [n for n in names if n not in failures]
    profiles: dict[str, list[DispatchTime]] = {}
    if dispatch_events(device) is not None and left:
        default, kept = left[0], min(left, key=lambda n: total[n])
        profiles = {
            n: _profile(working[n], functions, device, threads, archives, _runs(n))
            for n in dict.fromkeys((default, kept, OPTIMIZED))
            if n in left
        }
    mine = profiles.get(OPTIMIZED, [])
    calls = tuple((d.name, ns) for d in mine for ns in d.calls_ns)
    return tuple(
        VariantResult(v.name, v.flags, None, None, 0.0, None, failures[v.name])
        if v.name in failures
        else VariantResult(
            v.name,
            v.flags,
            total[v.name],
            fastest[v.name],
            spread[v.name],
            sum(d.count for d in profiles[v.name]) if v.name in profiles else None,
            calls=calls if v.name == OPTIMIZED else (),
            moves=tuple(move_dispatches(mine)) if v.name == OPTIMIZED else (),
        )
        for v in variants
    )


def _runs(name: str) -> int:
    """Of the original, dispatches are only counted."""
    return PROFILED_RUNS if name == OPTIMIZED else 1


def _profile(
    module: Path,
    functions: Sequence[Signature],
    device: str,
    threads: int,
    archives: Archives,
    runs: int,
) -> list[DispatchTime]:
    """The dispatches of all functions, one function after another."""
    return [
        dispatch
        for function in functions
        for dispatch in dispatch_times(
            module,
            function.name,
            random_inputs(function),
            device,
            threads,
            archives=archives,
            runs=runs,
        )
    ]
