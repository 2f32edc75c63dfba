"""Whole-graph layout planning for models that IREE compiles.

`optimize` does all; `read`, `lift`, `enumerate`, `price`, `select`, `lower` and `verify` are its
stages, each to be called by itself.
"""

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
    from layoutopt.ir.extension import BoundedExtension, EvaluatedExtension, Extension
    from layoutopt.ir.graph import Graph, GraphBuilder
    from layoutopt.options import (
        Budget,
        Effort,
        Objective,
        Options,
        ParameterFile,
        PlannedSize,
        Resource,
        SizeRange,
        TripCount,
    )
    from layoutopt.parameters.pack import PackedWeights, pack_weights
    from layoutopt.pipeline.job import optimize
    from layoutopt.pipeline.plan import Plan
    from layoutopt.pipeline.stages import (
        Function,
        LoweredModel,
        Model,
        enumerate,
        lift,
        lower,
        price,
        prices,
        read,
        select,
        verify,
    )
    from layoutopt.planning.graph_plan import GraphPlan
    from layoutopt.pricing.prices import Price, Pricer, Work
    from layoutopt.pricing.source import PriceSource
    from layoutopt.profiles.target import Target, load_target
    from layoutopt.report.report import Report
    from layoutopt.rules.rewrites import REWRITES
    from layoutopt.rules.rule import RewriteRule
    from layoutopt.solver import Search

__all__ = [
    "REWRITES",
    "BoundedExtension",
    "Budget",
    "Effort",
    "EvaluatedExtension",
    "Extension",
    "Function",
    "Graph",
    "GraphBuilder",
    "GraphPlan",
    "InputError",
    "LayoutoptError",
    "LoweredModel",
    "LoweringError",
    "MissingProfileError",
    "Model",
    "Objective",
    "Options",
    "PackedWeights",
    "ParameterFile",
    "Plan",
    "PlannedSize",
    "Price",
    "PriceSource",
    "Pricer",
    "Report",
    "Resource",
    "RewriteRule",
    "Search",
    "SizeRange",
    "SolverError",
    "Target",
    "TripCount",
    "Work",
    "enumerate",
    "lift",
    "load_target",
    "lower",
    "optimize",
    "pack_weights",
    "price",
    "prices",
    "read",
    "select",
    "verify",
]

_HOMES = {
    "BoundedExtension": "ir.extension",
    "Budget": "options",
    "Effort": "options",
    "EvaluatedExtension": "ir.extension",
    "Extension": "ir.extension",
    "Function": "pipeline.stages",
    "Graph": "ir.graph",
    "GraphBuilder": "ir.graph",
    "GraphPlan": "planning.graph_plan",
    "InputError": "errors",
    "LayoutoptError": "errors",
    "LoweredModel": "pipeline.stages",
    "LoweringError": "errors",
    "MissingProfileError": "errors",
    "Model": "pipeline.stages",
    "Objective": "options",
    "Options": "options",
    "PackedWeights": "parameters.pack",
    "ParameterFile": "options",
    "Plan": "pipeline.plan",
    "PlannedSize": "options",
    "Price": "pricing.prices",
    "PriceSource": "pricing.source",
    "Pricer": "pricing.prices",
    "REWRITES": "rules.rewrites",
    "Report": "report.report",
    "Resource": "options",
    "RewriteRule": "rules.rule",
    "Search": "solver",
    "SizeRange": "options",
    "SolverError": "errors",
    "Target": "profiles.target",
    "TripCount": "options",
    "Work": "pricing.prices",
    "enumerate": "pipeline.stages",
    "lift": "pipeline.stages",
    "load_target": "profiles.target",
    "lower": "pipeline.stages",
    "optimize": "pipeline.job",
    "pack_weights": "parameters.pack",
    "price": "pipeline.stages",
    "prices": "pipeline.stages",
    "read": "pipeline.stages",
    "select": "pipeline.stages",
    "verify": "pipeline.stages",
}
"""Where each name lives. It is fetched when first asked for: compiler, solver and NumPy take a
second to import, and most commands need none of them."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'layoutopt' has no attribute '{name}'")
    return getattr(import_module(f"layoutopt.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
