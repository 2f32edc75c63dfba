"""OPTIMAL says over what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutopt.options import Effort, Objective
from layoutopt.report.solver import SolverReport, SolverStatus, solver_text
from tests.reports import REPORT

SOLVER = REPORT.solver


@pytest.mark.parametrize(
    ("solver", "objective", "text"),
    [
        (
            SOLVER,
            Objective.LATENCY,
            "Solver: OPTIMAL over 640 of 700 candidates priced (37 excluded by assumed lower "
            "bounds, 23 refused); layouts cut on 3 of 160 tensors; gap 0.0000 %, objective "
            "19.000 ms, bound 19.000 ms; 0.10 s (proved)",
        ),
        (
            replace(SOLVER, effort=Effort.QUICK, refused=0, cut=0),
            Objective.LATENCY,
            "Solver: OPTIMAL over 640 of 700 candidates priced (37 not priced, as candidates like "
            "them were dearer); gap 0.0000 %, objective 19.000 ms, bound 19.000 ms; 0.10 s "
            "(proved)",
        ),
        (
            replace(SOLVER, candidates=640, refused=0, bounded=0, cut=0),
            Objective.CONVERSIONS,
            "Solver: OPTIMAL over 640 of 640 candidates priced; gap 0.0000 %, fewest conversions, "
            "then the smallest; 0.10 s (proved)",
        ),
        (
            replace(
                SOLVER, status=SolverStatus.FEASIBLE, gap=0.125, bounded=0, cut=0, refused=58,
                regions=2, op_limit=True, rounds_ended=True, added_ns=1500,
                stop_reason="time limit",
            ),
            Objective.LATENCY,
            "Solver: FEASIBLE over 640 of 700 candidates priced (58 refused, 2 dispatch regions "
            "that are not estimated); rewriting stopped at its limit; pricing stopped at "
            "its limit of rounds; 1.5 us of conversions added behind the solver, which its "
            "objective and bound do not hold; gap 12.5000 %, objective 19.000 ms, bound 19.000 ms; "
            "0.10 s (time limit)",
        ),
        (
            replace(SOLVER, given=True),
            Objective.LATENCY,
            "Solver: not run, the plan was given; when it was made: OPTIMAL, objective 19.000 ms, "
            "bound 19.000 ms",
        ),
        (
            replace(SOLVER, status=SolverStatus.NOT_RUN),
            Objective.LATENCY,
            "Solver: not run, there was nothing to plan",
        ),
    ],
    ids=["optimal", "quick", "all priced", "limits", "given", "nothing"],
)  # fmt: skip
def test_the_sentence_of_the_solver(solver: SolverReport, objective: Objective, text: str) -> None:
    assert solver_text(solver, objective) == text
