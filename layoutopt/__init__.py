"""Whole-graph layout planning for models that IREE compiles."""

from layoutopt.errors import (
    InputError,
    LayoutoptError,
    LoweringError,
    MissingProfileError,
    SolverError,
)
from layoutopt.optimize import Plan, optimize
from layoutopt.options import Options
from layoutopt.report.report import Report

__all__ = [
    "InputError",
    "LayoutoptError",
    "LoweringError",
    "MissingProfileError",
    "Options",
    "Plan",
    "Report",
    "SolverError",
    "optimize",
]
