"""What verification found, as the report says it."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.evaluated import Evaluation
from layoutopt.report.checks import VerificationReport

_REFERENCE = "IREE on the original"
_NO_TENSOR = "an argument is no tensor of static shape"
_UNRESPONSIVE = "its results were the same for all inputs tried (a saturated softmax?)"


def verification_report(
    evaluation: Evaluation | None, planned: Sequence[str]
) -> VerificationReport | None:
    """None where nothing was run."""
    if evaluation is None:
        return None
    v = evaluation.verification
    return VerificationReport(
        v.max_abs_error,
        v.max_rel_error,
        v.tolerance,
        v.passed,
        _REFERENCE,
        v.functions,
        tuple((name, _NO_TENSOR) for name in planned if name not in v.functions),
        tuple((name, _UNRESPONSIVE) for name in v.unresponsive),
    )
