"""Whole-graph layout planning for models that IREE compiles."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutopt.errors import (
        InputError,
        LayoutoptError,
        LoweringError,
        MissingProfileError,
        SolverError,
    )
    from layoutopt.options import Options, ParameterFile, WeightBudget
    from layoutopt.parameters.pack import PackedWeights, pack_weights
    from layoutopt.pipeline import Plan, optimize
    from layoutopt.report.report import Report

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

_HOMES = {
    "InputError": "errors",
    "LayoutoptError": "errors",
    "LoweringError": "errors",
    "MissingProfileError": "errors",
    "Options": "options",
    "PackedWeights": "parameters.pack",
    "ParameterFile": "options",
    "Plan": "pipeline",
    "Report": "report.report",
    "SolverError": "errors",
    "WeightBudget": "options",
    "optimize": "pipeline",
    "pack_weights": "parameters.pack",
}
"""Where each name lives. It is fetched when first asked for: compiler, solver and NumPy take a
second to import, and most commands need none of them."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'layoutopt' has no attribute '{name}'")
    return getattr(import_module(f"layoutopt.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
