"""Estimated cost of a candidate on a target that is not here."""

from __future__ import annotations

from layoutopt.candidate import PhysicalForm
from layoutopt.estimate.form import dispatch_work
from layoutopt.estimate.kernel import Kernel
from layoutopt.estimate.roofline import estimate
from layoutopt.estimate.work import Estimate
from layoutopt.profiles.target import Target

FREE = Estimate(0.0, 0.0, "nothing")


def estimate_form(form: PhysicalForm, target: Target, kernel: Kernel | None = None) -> Estimate:
    """Time of one run of the form with its uncertainty; FREE where nothing runs."""
    return FREE if form.is_free else estimate(dispatch_work(form, target), target, kernel)


def estimate_ns(form: PhysicalForm, target: Target) -> int:
    """Nanoseconds that one run of the form takes, zero where nothing runs."""
    return round(estimate_form(form, target).ns)
