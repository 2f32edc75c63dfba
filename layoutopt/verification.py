"""Whether modules compute the same: run on the same random inputs, each result compared."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from layoutopt.errors import InputError, LoweringError
from layoutopt.evaluated import OPTIMIZED, Verification
from layoutopt.mlir.module import Signature
from layoutopt.runtime.model import run_model
from layoutopt.types import Array, is_float, numpy_dtype

Archives = Sequence[tuple[str, Path]]
"""(scope, file) of parameters."""

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


def verify(
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
