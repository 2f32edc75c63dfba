"""What bodies compute over whole arrays, with the bounds of their errors."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.oracle.error import OracleError
from layoutopt.oracle.precision import rounds
from layoutopt.oracle.rounding import Bounded, error_of
from layoutopt.oracle.scalar import compute
from layoutopt.oracle.wide import rounded


def compute_body(body: Body, arguments: Sequence[Bounded], tracks: bool) -> list[Bounded]:
    """What a body yields over wide arrays. Raises OracleError for ops that are not known.

    ``tracks``: whether bounds of errors are wanted.
    """
    values = list(arguments)
    for op in body.ops:
        kinds = [body.type_of(o) for o in op.operands]
        values.append(scalar_result(op, kinds, [values[o] for o in op.operands], tracks))
    return [values[y] for y in body.yields]


def scalar_result(
    op: ScalarOp,
    kinds: Sequence[str],
    operands: Sequence[Bounded],
    tracks: bool,
    accumulated: bool = False,
) -> Bounded:
    """What one op computes; ``accumulated``: its roundings are counted elsewhere."""
    found = compute(op, [o.value for o in operands], kinds)
    if found is None:
        raise OracleError(f"oracle: expected a known scalar op, but got {op.name}; skip the check")
    error = error_of(op, kinds, operands, found) if tracks else None
    wide = accumulated and rounds(op.type)
    return Bounded(found.exact if wide else rounded(found.exact, op.type), error)
