"""The roles of a contraction's loops: batch, m, n and k."""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.graph import Structured


@dataclass(frozen=True, slots=True)
class Roles:
    """The loops of a contraction, in the field's names; ``window`` loops are part of k."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    window: tuple[int, ...]


def roles(op: Structured) -> Roles:
    """Sort the loops of a contraction by which operands read them."""
    read = [{d for form in m for d in form.dims} for m in op.maps]
    reduced = op.reduction_dims
    loops = [d for d in range(len(op.domain)) if d not in reduced]
    read_by_windows = (
        d for form in op.source_maps[0] if len(form.terms) > 1 for d in form.dims if d in reduced
    )
    window = tuple(dict.fromkeys(read_by_windows))
    return Roles(
        tuple(d for d in loops if d in read[0] and d in read[1]),
        tuple(d for d in loops if d in read[0] and d not in read[1]),
        tuple(d for d in loops if d not in read[0]),
        tuple(d for d in reduced if d not in window),
        window,
    )


def is_windowed(op: Structured) -> bool:
    """Whether some input is read through a sliding window."""
    return any(len(form.terms) > 1 for m in op.source_maps for form in m)
