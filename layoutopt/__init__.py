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
from layoutopt.parameters.files import ParameterFile
from layoutopt.parameters.pack import PackedWeights, pack_weights
from layoutopt.report.report import Report
from layoutopt.weight_budget import WeightBudget

__all__ = [
    "InputError",
    "LayoutoptError",
    "LoweringError",
    "MissingProfileError",
    "Options",
    "PackedWeights",
    "ParameterFile",
    "Plan",
    "Report",
    "SolverError",
    "WeightBudget",
    "optimize",
    "pack_weights",
]
