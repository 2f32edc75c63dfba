"""Inputs that results are compared on, of several kinds: each one hides other errors.

What saturates on large numbers (a softmax that is all ones and zeros) hides errors, and does not on
small ones; mixed signs cancel, positive numbers add up; zeros show what is added to them; a few
numbers among zeros show where each of them goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any  # ml_dtypes has no types for finfo

import ml_dtypes
import numpy as np

from layoutopt.runtime.element import DTYPES, Array, RankedTensorType, Value
from layoutopt.verification.input_sizes import Sizes

_SPARSE = 1 / 16
"""Share of the numbers that are not zero among sparse ones."""


class InputKind(Enum):
    """A kind of inputs, by the name that the report gives it."""

    NORMAL = "normal"
    SMALL = "normal, scaled by 2^-6"
    TINY = "normal, scaled by 2^-12"
    POSITIVE = "positive"
    SPARSE = "mostly zeros"
    ZEROS = "zeros"
    LARGE = "large"
    WHOLE = "whole numbers"


class Role(Enum):
    """What the integers of an argument are, as far as the graph tells."""

    NUMBER = "number"
    UNKNOWN = "unknown"
    """Perhaps positions: zeros and ones exist in any table."""


Integers = Role | int
"""A role, or how many rows the smallest table has that they are positions in."""

_SCALES = {InputKind.SMALL: 2.0**-6, InputKind.TINY: 2.0**-12, InputKind.LARGE: 2.0**6}
_HALF_RANGES = {InputKind.SMALL: 16, InputKind.TINY: 1, InputKind.WHOLE: 8}


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a function takes, in order."""

    kinds: tuple[RankedTensorType | str, ...]
    """Tensors, or the types of scalars."""
    integers: Mapping[int, Integers] = field(default_factory=dict)
    """By position, what integers stand for where that is known."""

    @property
    def is_dynamic(self) -> bool:
        """Whether the size of some dim is the caller's choice."""
        return any(isinstance(k, RankedTensorType) and None in k.shape for k in self.kinds)

    def sized(self, sizes: Sizes) -> Arguments:
        """The same with sizes for all dynamic dims."""
        kinds = tuple(
            k if isinstance(k, str) else RankedTensorType(sizes.of(position, k.shape), k.element)
            for position, k in enumerate(self.kinds)
        )
        return Arguments(kinds, self.integers)


def inputs_of(
    arguments: Arguments, kind: InputKind = InputKind.NORMAL, seed: int = 0
) -> list[Value]:
    """Values for all arguments, the same ones each time. Asks for static shapes."""
    rng = np.random.default_rng([seed, list(InputKind).index(kind)])
    found: list[Value] = []
    for position, argument in enumerate(arguments.kinds):
        role = arguments.integers.get(position, Role.UNKNOWN)
        if isinstance(argument, str):
            element = "i64" if argument == "index" else argument
            found.append(as_scalar(_array(element, (), kind, role, rng)))
            continue
        shape = tuple(n for n in argument.shape if n is not None)
        assert len(shape) == len(argument.shape), argument
        found.append(_array(argument.element, shape, kind, role, rng))
    return found


def nudged(inputs: Sequence[Value], seed: int) -> list[Value]:
    """The same inputs, each float off by about its own rounding; zeros by that of a one."""
    rng = np.random.default_rng(seed)
    return [_nudged(value, rng) for value in inputs]


def _nudged(value: Value, rng: np.random.Generator) -> Value:
    array = np.asarray(value)
    if not is_floating(array.dtype):
        return value
    step = 2 * _eps(array.dtype)
    wide = array.astype(np.float64)
    moved = wide + np.where(wide == 0, 1.0, wide) * rng.choice([-step, step], array.shape)
    nudge: Array = moved.astype(array.dtype)
    return as_scalar(nudge) if isinstance(value, np.generic) else nudge


def as_scalar(array: Array) -> np.generic:
    """The one number of an array, as a scalar of NumPy."""
    number: np.generic = array.reshape(1)[0]
    return number


def _eps(dtype: np.dtype[np.generic]) -> float:
    found: Any = ml_dtypes.finfo(dtype)
    return float(found.eps)


def is_floating(dtype: np.dtype[np.generic]) -> bool:
    """Whether a type holds real floating-point numbers, those of ml_dtypes among them."""
    return dtype.kind in "fV"


def _array(
    element: str, shape: tuple[int, ...], kind: InputKind, role: Integers, rng: np.random.Generator
) -> Array:
    dtype = DTYPES[element]
    if dtype.kind == "c":
        parts = np.stack([_floats(shape, kind, rng) for _ in range(2)], axis=-1)
        return np.ascontiguousarray(parts).view(np.complex64)[..., 0].astype(dtype)
    if is_floating(dtype):
        floats = _floats(shape, kind, rng)
        if np.zeros((), dtype).astype(np.float32) != 0:  # f8E8M0FNU: powers of two, no zero
            floats = np.maximum(np.abs(floats), np.float32(2.0**-20))
        return floats.astype(dtype)
    if dtype.kind == "b":
        share = {InputKind.ZEROS: 0.0, InputKind.POSITIVE: 1.0, InputKind.SPARSE: _SPARSE}.get(
            kind, 0.5
        )
        return np.asarray(rng.random(shape) < share)
    return _integers(dtype, shape, kind, role, rng).astype(dtype)


def _floats(shape: tuple[int, ...], kind: InputKind, rng: np.random.Generator) -> Array:
    if kind is InputKind.ZEROS:
        return np.zeros(shape, np.float32)
    if kind is InputKind.POSITIVE:
        return np.asarray(rng.random(shape, np.float32) + np.float32(2.0**-10))
    if kind is InputKind.WHOLE:
        return rng.integers(-4, 5, shape).astype(np.float32)
    normal = np.asarray(rng.standard_normal(shape, np.float32))
    if kind is InputKind.SPARSE:
        return np.where(_few(shape, rng), normal, np.float32(0))
    return np.asarray(normal * np.float32(_SCALES.get(kind, 1.0)))


def _few(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Which of the elements of a sparse tensor are not zero: some, and at least one."""
    chosen = np.asarray(rng.random(shape) < _SPARSE)
    if chosen.size:
        chosen.reshape(-1)[rng.integers(chosen.size)] = True
    return chosen


def _integers(
    dtype: np.dtype[np.generic],
    shape: tuple[int, ...],
    kind: InputKind,
    role: Integers,
    rng: np.random.Generator,
) -> Array:
    if kind is InputKind.ZEROS:
        return np.zeros(shape, np.int64)
    if role is not Role.NUMBER and (isinstance(role, int) or dtype.itemsize > 1):
        rows = role if isinstance(role, int) else 2
        most = min(rows, 2) if kind is InputKind.TINY else rows
        if kind is InputKind.LARGE:
            return np.asarray(rng.choice([0, rows - 1], shape))
        return rng.integers(0, max(most, 1), shape)
    limits = np.iinfo(np.dtype(f"{dtype.kind}{dtype.itemsize}"))
    smallest, largest = int(limits.min), int(limits.max)
    byte = dtype.itemsize == 1
    if kind is InputKind.LARGE:
        return np.asarray(rng.choice((smallest, largest) if byte else _wide(dtype), shape))
    low, high = (smallest, largest) if byte else (-100, 100)
    if kind in _HALF_RANGES:
        low, high = -_HALF_RANGES[kind], _HALF_RANGES[kind]
    if kind is InputKind.POSITIVE:
        low = 1
    found = rng.integers(max(low, smallest), high + 1, shape)
    return np.where(_few(shape, rng), found, 0) if kind is InputKind.SPARSE else found


def _wide(dtype: np.dtype[np.generic]) -> tuple[int, int]:
    """Large integers whose products with small ones still fit."""
    most = 2**12 if dtype.itemsize == 2 else 2**20
    return (0 if dtype.kind == "u" else -most, most)
