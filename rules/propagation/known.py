"""Values of a body where loops are past their end, as far as they are known."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from layoutopt.ir.scalar import ScalarOp
from layoutopt.ir.types import Array
from layoutopt.oracle.scalar import apply

_SIGN_OF_ZERO = ("math.copysign", "math.atan2", "arith.bitcast")


class Unknown(Enum):
    """A value that is not known: one that is read inside the tensors, or undefined contents."""

    READ = "read"
    SPOILED = "spoiled"


State = Array | Unknown


def applied(op: ScalarOp, operands: list[State]) -> State:
    """What an op of a body makes of its operands."""
    if op.name == "linalg.index" or any(o is Unknown.SPOILED for o in operands):
        return Unknown.SPOILED
    known = [o for o in operands if not isinstance(o, Unknown)]
    if operands and not known:
        return Unknown.READ
    if len(known) < len(operands):
        zero = op.name in ("arith.muli", "arith.andi") and not np.any(known[0])
        return known[0] if zero else Unknown.SPOILED
    if op.name in _SIGN_OF_ZERO:
        return Unknown.SPOILED
    with np.errstate(all="ignore"):
        value = apply(op, known)
    if value is None or (_finite(known) and not _finite([value]) and op.operands):
        return Unknown.SPOILED
    return value


def _finite(values: Sequence[Array]) -> bool:
    return all(v.dtype.kind in "iub" or bool(np.isfinite(v.astype(np.float64))) for v in values)


def equal(state: State, goal: Array | None) -> bool:
    """Whether a value is known, and is this one."""
    return goal is not None and not isinstance(state, Unknown) and bool(state == goal)
