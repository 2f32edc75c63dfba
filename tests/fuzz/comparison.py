"""How far two tensors may be apart, and where they are further apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.types import Array
from tests.fuzz.value import EPSILON, Value

SLACK = 4.0
"""Errors are first-order estimates; what is wrong is off by much more."""


@dataclass(frozen=True)
class Bug:
    """Something that must not happen: its class, where it was seen, and the facts."""

    kind: str
    """``wrong``, ``traceback``, ``invalid``, ``crash``: what a shrunk input must show too."""
    where: str
    """The part of layoutopt, without numbers, so that one fault has one name."""
    detail: str


def tolerance(value: Value) -> float:
    """The largest absolute difference of two right results."""
    return SLACK * value.error


def apart(got: Array, wanted: Array, allowed: float) -> str:
    """How two tensors differ by more than ``allowed``; empty where they do not."""
    if got.shape != wanted.shape:
        return f"expected shape {wanted.shape}, but got {got.shape}"
    if got.dtype != wanted.dtype:
        return f"expected {wanted.dtype}, but got {got.dtype}"
    if not wanted.size:
        return ""
    floating = got.dtype.name in ("float64", "float32", "float16", "bfloat16")
    a, b = (x.astype(np.float64 if floating else np.int64) for x in (got, wanted))
    with np.errstate(invalid="ignore"):
        near = (a == b) | (np.abs(a - b) <= allowed)
    if floating:
        near |= np.isnan(a) & np.isnan(b)
    if near.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~near)[0])
    return (
        f"expected {b[place]} at {place}, but got {a[place]} ({int((~near).sum())} of {near.size} "
        f"differ, {allowed:.2g} allowed)"
    )


def general_tolerance(values: Sequence[Value]) -> float:
    """What inner tensors of a graph may be off by, relative to their largest magnitude."""
    errors = [v.error / max(v.bound, 1.0) for v in values]
    coarsest = max((EPSILON[v.element] for v in values if v.floating), default=0.0)
    return SLACK * max([coarsest, *errors])
