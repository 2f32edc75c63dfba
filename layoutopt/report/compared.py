"""What verification found, as the report says it."""

from __future__ import annotations

from layoutopt.report.checks import VerificationReport
from layoutopt.verification.verified import Verification


def verification_report(found: Verification) -> VerificationReport | None:
    """What was compared and what was not; None where there was nothing to compare."""
    if not found.functions:
        return None
    compared = tuple(f for f in found.functions if not f.unverified)
    return VerificationReport(
        found.max_abs_error,
        found.max_rel_error,
        found.tolerance,
        found.passed,
        found.reference,
        tuple(f.name for f in compared),
        found.unverified,
        found.weak,
        tuple(dict.fromkeys(kind for f in compared for kind in f.inputs)),
        tuple(dict.fromkeys(s for f in compared for s in f.skipped)),
        found.reference_reason,
        found.place,
        sum(f.tipped for f in compared),
    )
