"""Estimated cost of a candidate on a target that is not here."""

from __future__ import annotations

import math

from layoutopt.candidates.candidate import PhysicalForm
from layoutopt.pricing.analytic.form import all_work
from layoutopt.pricing.analytic.kernel import Kernel
from layoutopt.pricing.analytic.roofline import estimate
from layoutopt.pricing.analytic.work import Estimate
from layoutopt.profiles.target import Target

LONGEST_NS = 1e14
"""A day: nothing is estimated to take longer, so that a whole plan can be added up."""
FREE = Estimate(0.0, 0.0, "nothing")


def estimate_form(form: PhysicalForm, target: Target, kernel: Kernel | None = None) -> Estimate:
    """Time of one run of the form with its uncertainty; FREE where nothing runs."""
    parts = [estimate(work, target, kernel) for work in all_work(form, target)]
    if not parts:
        return FREE
    total = sum(part.ns for part in parts)
    error = math.sqrt(sum((part.ns * part.uncertainty) ** 2 for part in parts))
    longest = max(parts, key=lambda part: part.ns)
    return Estimate(min(total, LONGEST_NS), error / total, longest.bound)


def estimate_ns(form: PhysicalForm, target: Target) -> int:
    """Nanoseconds that one run of the form takes, zero where nothing runs."""
    return round(estimate_form(form, target).ns)
