"""Estimated cost of a candidate on a target that is not here."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.candidates.candidate import PhysicalForm
from layoutopt.pricing.analytic.compiled.kernel_time import COMPUTE, step_time
from layoutopt.pricing.analytic.compiled.read_module import Step
from layoutopt.pricing.analytic.form import all_work
from layoutopt.pricing.analytic.roofline import estimate
from layoutopt.pricing.analytic.work import Estimate
from layoutopt.profiles.target import Target

LONGEST_NS = 1e14
"""A day: nothing is estimated to take longer, so that a whole plan can be added up."""
FREE = Estimate(0.0, 0.0, "nothing")


def estimate_form(form: PhysicalForm, target: Target) -> Estimate:
    """Time of one run of the form with its uncertainty; FREE where nothing runs."""
    return together([estimate(work, target) for work in all_work(form, target)])


def estimate_steps(steps: Sequence[Step], target: Target) -> Estimate:
    """Time of what a compiled candidate runs, launches included; FREE where nothing runs."""
    rates = target.kernel_rates
    assert rates is not None, target.name
    parts = []
    for step in steps:
        took = step_time(step, target.machine, rates)
        ns = target.rates.launch_ns + took.ns
        bound = took.bound if took.ns > target.rates.launch_ns else "launch"
        error = rates.uncertainty
        if step.reason:
            error = target.machine.uncertainty
        elif step.kernel is not None and bound == COMPUTE and not step.kernel.has_matrix:
            error = rates.uncertainty_vector
        parts.append(Estimate(ns, error, bound, step.reason))
    return together(parts)


def together(parts: Sequence[Estimate]) -> Estimate:
    """Times one after another; their errors go the same way: the same rates are behind them."""
    if not parts:
        return FREE
    total = sum(part.ns for part in parts)
    error = sum(part.ns * part.uncertainty for part in parts) / total
    longest = max(parts, key=lambda part: part.ns)
    reason = next((part.reason for part in parts if part.reason), "")
    return Estimate(min(total, LONGEST_NS), error, longest.bound, reason)


def estimate_ns(form: PhysicalForm, target: Target) -> int:
    """Nanoseconds that one run of the form takes, zero where nothing runs."""
    return round(estimate_form(form, target).ns)
