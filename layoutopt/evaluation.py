"""Hold the optimized module against the original: equal results first, then time.

Both run on the same random inputs; all modules are timed in turns in one process, so that drift
of the machine hits them alike. Results are remembered by the content of both modules.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from layoutopt.data_movement import MoveDispatch, move_dispatches
from layoutopt.errors import InputError, LoweringError, RefusedModuleError
from layoutopt.evaluated import (
    OPTIMIZED,
    Evaluation,
    Variant,
    VariantResult,
    Verification,
    content_key,
    recall,
    remember,
)
from layoutopt.mlir.module import Signature
from layoutopt.profiles.target import FlagSet
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import (
    dispatch_events,
    dispatch_times,
    run_model,
    time_models,
)
from layoutopt.runtime.tool_pool import tool_pool
from layoutopt.types import Array, is_float, numpy_dtype

Archives = Sequence[tuple[str, Path]]
"""(scope, file) of parameters."""

PROFILED_RUNS = 5
"""Runs of the optimized module under the profiler; the median of each call counts."""


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
    compiled: dict[str, Path] = {}
    failures: dict[str, str] = {}
    refused: tuple[str, ...] = ()
    with tool_pool(2) as pool:
        outputs = [folder / f"variant{i}.vmfb" for i in range(len(variants))]
        outcomes = pool.map(
            lambda pair: compile_file(pair[0].source, pair[1], pair[0].flags, compile_timeout_s),
            zip(variants, outputs, strict=True),
        )
        for variant, output, outcome in zip(variants, outputs, outcomes, strict=True):
            if outcome.ok:
                compiled[variant.name] = output
            else:
                failures[variant.name] = outcome.reason
                refused = outcome.dispatches if variant.name == OPTIMIZED else refused
    if OPTIMIZED in failures:
        raise RefusedModuleError(failures[OPTIMIZED], refused)
    if len(compiled) < 2:
        raise InputError(
            str(variants[0].source),
            "a model that iree-compile takes",
            next(iter(failures.values())),
            "compile it by hand first",
        )
    reference = next(v.name for v in variants if v.name in compiled)
    verification, working = _verify(
        compiled, reference, functions, device, threads, tolerance, failures, archives
    )
    results = _time(variants, working, functions, failures, device, threads, archives)
    evaluation = Evaluation(results, verification, datetime.now(UTC).isoformat(timespec="seconds"))
    if verification.passed and memory is not None:
        remember(memory, key, evaluation)
    return evaluation


_SCALES = (1.0, 2.0**-6, 2.0**-12)
"""Standard deviations of the inputs that results are compared on: what saturates on large numbers
(a softmax that is all ones and zeros) hides errors, and does not on small ones."""


def random_inputs(signature: Signature, seed: int = 0, scale: float = 1.0) -> list[Array]:
    """Random tensors for a function: normal for floats, any i8, zeros and ones for wider integers.

    Wide integers are indices, and small ones exist in any table; i8 is what numbers quantize to.

    ``scale``: the standard deviation.
    """
    rng = np.random.default_rng(seed)
    arrays: list[Array] = []
    for kind in signature.arguments:
        dtype = numpy_dtype(kind.element)
        if dtype is None:
            raise InputError(
                f"function '{signature.name}'",
                "element types that NumPy knows",
                kind.element,
                "plan it with a profile that is not measured here",
            )
        if is_float(kind.element):
            values = rng.standard_normal(kind.shape, dtype=np.float32) * np.float32(scale)
        else:
            low, high = (-128, 128) if kind.element == "i8" else (0, 2)
            values = rng.integers(low, high, kind.shape).astype(np.float32)
        arrays.append(values.astype(dtype))
    return arrays


def difference(got: Sequence[Array], expected: Sequence[Array]) -> tuple[float, float]:
    """Largest absolute error, and the same relative to the result's largest magnitude.

    A shape that differs, or a value that is finite on one side only, is an infinite error.
    """
    worst_abs = worst_rel = 0.0
    for a, b in zip(got, expected, strict=True):
        if a.shape != b.shape:
            return float("inf"), float("inf")
        if not b.size:
            continue
        x, y = a.astype(np.float64), b.astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        with np.errstate(invalid="ignore"):  # inf - inf, where both agree
            error = float(np.max(np.where(same, 0.0, np.abs(x - y))))
        if not np.isfinite(error):
            return float("inf"), float("inf")
        finite = y[np.isfinite(y)]
        scale = float(np.max(np.abs(finite))) if finite.size else 0.0
        worst_abs = max(worst_abs, error)
        worst_rel = max(worst_rel, error / scale if scale else error)
    return worst_abs, worst_rel


def _verify(
    compiled: dict[str, Path],
    reference: str,
    functions: Sequence[Signature],
    device: str,
    threads: int,
    tolerance: float,
    failures: dict[str, str],
    archives: Archives,
) -> tuple[Verification, dict[str, Path]]:
    """Compare every variant with the reference; IREE's own flag sets that fail are set aside."""
    working = dict(compiled)
    worst = (0.0, 0.0)
    seen: dict[str, list[list[Array]]] = {}
    for function, (seed, scale) in itertools.product(functions, enumerate(_SCALES)):
        inputs = random_inputs(function, seed, scale)
        run = partial(
            run_model,
            function=function.name,
            inputs=inputs,
            device=device,
            threads=threads,
            archives=archives,
        )
        expected = run(compiled[reference])
        seen.setdefault(function.name, []).append(expected)
        for name, module in compiled.items():
            if name == reference or name not in working:
                continue
            if name != OPTIMIZED and scale != _SCALES[0]:
                continue  # IREE's own flag sets compute what IREE computes
            try:
                got = run(module)
            except LoweringError as error:
                if name == OPTIMIZED:
                    raise
                failures[name] = str(error)
                del working[name]
                continue
            errors = difference(got, expected)
            if name == OPTIMIZED:
                worst = max(worst[0], errors[0]), max(worst[1], errors[1])
            elif errors[1] > tolerance:
                failures[name] = f"results differ from '{reference}' by {errors[1]:.2g}"
                del working[name]
    names = tuple(f.name for f in functions)
    same = tuple(n for n in names if all(_equal(other, seen[n][0]) for other in seen[n]))
    passed = worst[1] <= tolerance
    return Verification(worst[0], worst[1], tolerance, passed, names, same), working


def _equal(results: Sequence[Array], others: Sequence[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(results, others, strict=True))


def _time(
    variants: Sequence[Variant],
    working: dict[str, Path],
    functions: Sequence[Signature],
    failures: dict[str, str],
    device: str,
    threads: int,
    archives: Archives,
) -> tuple[VariantResult, ...]:
    names = [v.name for v in variants if v.name in working]
    profiled = dispatch_events(device) is not None
    total = dict.fromkeys(names, 0.0)
    spread = dict.fromkeys(names, 0.0)
    dispatches = dict.fromkeys(names, 0)
    calls: list[tuple[str, float]] = []
    moves: dict[str, tuple[MoveDispatch, ...]] = dict.fromkeys(names, ())
    for function in functions:
        inputs = random_inputs(function)
        models = [(working[n], function.name) for n in names]
        timed = time_models(models, inputs, device, threads, archives=archives)
        for name, measured in zip(names, timed, strict=True):
            if not measured.ok:
                failures[name] = measured.reason
                continue
            total[name] += measured.median_ns / 1e6
            spread[name] = max(spread[name], measured.spread)
        for name in (n for n in names if profiled and n not in failures):
            runs = PROFILED_RUNS if name == OPTIMIZED else 2
            profile = dispatch_times(
                working[name],
                function.name,
                inputs,
                device,
                threads,
                archives=archives,
                runs=runs,
            )
            dispatches[name] += sum(d.count for d in profile)
            if name == OPTIMIZED:
                calls += [(d.name, ns) for d in profile for ns in d.calls_ns]
            moves[name] += move_dispatches(profile)
    return tuple(
        VariantResult(v.name, v.flags, None, 0.0, None, failures[v.name])
        if v.name in failures
        else VariantResult(
            v.name,
            v.flags,
            total[v.name],
            spread[v.name],
            dispatches[v.name] if profiled else None,
            calls=tuple(calls) if v.name == OPTIMIZED else (),
            moves=moves[v.name],
        )
        for v in variants
    )
