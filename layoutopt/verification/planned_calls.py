"""Calls of a model at the sizes that are planned for, as its compiled modules are read for them."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.planned_sizes import size_for
from layoutopt.ir.size import planned
from layoutopt.pricing.analytic.compiled.host_program import Shapes
from layoutopt.verification.verified import Subject

Call = tuple[float, Shapes]
"""What it counts, and by function the shapes of arguments whose sizes are open."""


def planned_calls(subjects: Sequence[Subject]) -> tuple[Call, ...]:
    """One call for each of the sizes that are planned for; one alone where no size is open."""
    points = max((s.points for s in subjects), key=len, default=()) or ((1.0, ()),)
    return tuple(
        (
            weight,
            {
                subject.name: {
                    position: tuple(planned(size_for(n, dict(values))) for n in shape)
                    for position, shape in subject.shapes.items()
                }
                for subject in subjects
                if subject.shapes
            },
        )
        for weight, values in points
    )
