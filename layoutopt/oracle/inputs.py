"""Inputs on which the results of ops say something.

Numbers are few multiples of a power of two, so that most sums and products are exact in any order:
what is off by one term then shows. They lie where ops are defined: kinds of inputs are tried until
no divisor is zero and every result is finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from enum import Enum

import numpy as np

from layoutopt.ir.graph import DispatchRegion, Extension, Gather, Graph, Op, Structured
from layoutopt.ir.types import Array, TensorType, integer_bits, is_complex, is_float, numpy_dtype
from layoutopt.oracle.error import OracleError
from layoutopt.oracle.evaluate import evaluate_bounded
from layoutopt.oracle.precision import real_part, unit_roundoff

_STEPS = 8
"""Floats are multiples of an eighth."""
_MOST_DENSE = 0.75
_NARROW = 2.0**-12
"""Types that round more than this hold few digits."""


class Kind(Enum):
    """Ranges in eighths for floats, and for integers."""

    SIGNED = (-8, 8), (-4, 4)
    NONZERO = (-8, 8), (-4, 4)
    POSITIVE = (4, 12), (1, 4)
    FRACTION = (1, 7), (1, 2)
    LARGE = (9, 16), (1, 2)


def chosen_inputs(
    graph: Graph, fixed: Mapping[int, Array]
) -> tuple[dict[int, Array], dict[int, Array], dict[int, Array]]:
    """Inputs, all tensors, and the bounds of their errors, of the first kind that suits the ops.

    ``fixed``: values of tensors that are not to be chosen. Raises OracleError.
    """
    best: tuple[int, tuple[dict[int, Array], dict[int, Array], dict[int, Array]]] | None = None
    for inputs in candidate_inputs(graph, fixed):
        values, errors = evaluate_bounded(graph, inputs)
        wrong = sum(unsuitable(values[t], errors.get(t)) for t in graph.outputs)
        if best is None or wrong < best[0]:
            best = wrong, (inputs, values, errors)
        if not wrong:
            break
    assert best is not None
    return best[1]


def candidate_inputs(graph: Graph, fixed: Mapping[int, Array]) -> Iterator[dict[int, Array]]:
    """Inputs of each kind. Raises OracleError for types without arrays."""
    density = _density(graph)
    for kind in Kind:
        rng = np.random.default_rng(0)
        values = dict(fixed)
        for t in graph.inputs:
            if t not in fixed:
                values[t] = _random(graph.types[t], rng, kind, density)
        for op in graph.ops:
            if isinstance(op, Gather) and op.indices in graph.inputs:
                values[op.indices] = values[op.indices] % graph.types[op.table].shape[op.axis]
            elif isinstance(op, Extension):
                for t, counts in op.positions(graph.types).items():
                    if t in graph.inputs:
                        values[t] = (values[t] % np.asarray(counts)).astype(values[t].dtype)
        yield values


def unsuitable(value: Array, error: Array | None) -> int:
    """How many elements say nothing: not finite, or any value would do."""
    wide = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    wrong = ~np.isfinite(wide)
    if error is not None:
        wrong = wrong | np.isinf(error)
    return int(np.count_nonzero(wrong))


def _density(graph: Graph) -> float:
    """How many of the numbers may differ from zero for sums in narrow types to stay exact."""
    density = 1.0
    for op in _flat(graph.ops):
        if not isinstance(op, Structured) or not op.reduction_dims:
            continue
        element = real_part(op.body.arguments[-1])
        if is_float(element) and unit_roundoff(element) > _NARROW:
            count = math.prod(op.domain[d] for d in op.reduction_dims)
            exact = 0.5 / unit_roundoff(element)
            density = min(density, _MOST_DENSE, math.sqrt(exact / 2 / max(1, count)))
    return density


def _flat(ops: tuple[Op, ...]) -> Iterator[Op]:
    for op in ops:
        if isinstance(op, DispatchRegion):
            yield from _flat(op.ops)
        else:
            yield op


def _random(kind: TensorType, rng: np.random.Generator, of: Kind, density: float) -> Array:
    dtype = numpy_dtype(kind.element)
    if dtype is None:
        raise OracleError(
            f"oracle: expected a known element type, but got {kind.element}; skip the check"
        )
    if is_complex(kind.element):
        parts = (_floats(kind.shape, rng, of, density) for _ in range(2))
        return np.asarray(next(parts) + 1j * next(parts)).astype(dtype)
    if kind.element == "f8E8M0FNU":  # powers of two only
        return np.exp2(rng.integers(-2, 3, kind.shape)).astype(dtype)
    if is_float(kind.element):
        return _floats(kind.shape, rng, of, density).astype(dtype)
    if kind.element == "i1":
        return rng.integers(0, 2, kind.shape).astype(dtype)
    low, high = of.value[1]
    most = (1 << ((integer_bits(kind.element) or 8) - 1)) - 1
    low, high = max(low, 0 if kind.element.startswith("u") else -most - 1), min(high, most)
    found = rng.integers(low, high + 1, kind.shape)
    return (
        np.where(found == 0, high, found).astype(dtype)
        if of is Kind.NONZERO
        else found.astype(dtype)
    )


def _floats(shape: tuple[int, ...], rng: np.random.Generator, of: Kind, density: float) -> Array:
    low, high = of.value[0]
    found = rng.integers(low, high + 1, shape) / _STEPS
    if of is Kind.NONZERO:
        found = np.where(found == 0, 1.0, found)
    if density < 1.0 and low < 0:
        found = np.where(rng.random(shape) < density, np.sign(found), 0.0)
    return found
