"""What one optimization hands out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutopt.files.written import check_writable
from layoutopt.ir.graph import Graph
from layoutopt.mlir.module import Module
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.plan_file import CarriedLayout, PlanFile, function_plans, write_plan
from layoutopt.report.html import html_page
from layoutopt.report.report import Report


@dataclass(frozen=True)
class PlannedFunction:
    """One function of a model and its plan."""

    name: str
    graph: Graph
    """As it came."""
    plan: GraphPlan


@dataclass(frozen=True)
class Plan:
    """The result of one optimization, ready to be written."""

    functions: tuple[PlannedFunction, ...]
    target: str
    module: Module
    """The fastest module: the planned one, or the original where nothing was faster."""
    compile_flags: tuple[str, ...]
    report: Report

    def apply(self, path: Path | str) -> None:
        """Write the module, with its compile flags recorded inside. ``.mlirbc`` for bytecode."""
        target = Path(path)
        check_writable(target)
        self.module.write(target, self.compile_flags)

    def in_memory(self, context: Any = None) -> Any:
        """The module as an ``iree.compiler.ir.Module``, in ``context`` or in one of its own."""
        return self.module.copied(context, self.compile_flags)

    def save(self, path: Path | str) -> None:
        """Write the choices as JSON, for ``layoutopt optimize --plan``."""
        check_writable(Path(path))
        functions = tuple(
            row for f in self.functions for row in function_plans(f.name, f.graph, f.plan)
        )
        found = {end.name: end.layout for f in self.functions for end in f.plan.ends.carried}
        carried = tuple(CarriedLayout(name, layout) for name, layout in found.items())
        write_plan(
            Path(path), PlanFile(self.target, self.report.objective, functions, carried=carried)
        )

    def _repr_html_(self) -> str:
        """The report's page, for notebooks."""
        return html_page(self.report)
