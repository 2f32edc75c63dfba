"""What was checked, against what, and what could not be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """Largest differences between the results of what is written and a reference."""

    max_abs_error: float
    max_rel_error: float
    tolerance: float
    passed: bool
    """Whether all that was compared agrees."""
    reference: str
    """What results were compared with: IREE on the original, or the NumPy oracle."""
    compared: tuple[str, ...]
    """Functions that were compared."""
    unverified: tuple[tuple[str, str], ...] = ()
    """Planned functions that were not, each with the reason."""
    weak: tuple[tuple[str, str], ...] = ()
    """Functions whose agreement says little, each with the reason."""
    inputs: tuple[str, ...] = ()
    """Kinds of inputs that were tried."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Kinds of inputs that were not, each with the reason."""
    reference_reason: str = ""
    """Why the reference is not IREE on the original; empty where it is."""
    place: str = ""
    """Where they were compared, if not on the target."""
    tipped: int = 0
    """Integers that are off by one, since a float in the middle was rounded the other way."""


@dataclass(frozen=True, slots=True)
class UncheckedReport:
    """An op with a candidate that is not known to compute rightly, or was not measured, and why."""

    function: str
    op: str
    reason: str
