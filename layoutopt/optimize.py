"""The main job: read, plan, lower, verify, time, report."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutopt.evaluated import OPTIMIZED
from layoutopt.given_plan import given_plans
from layoutopt.graph import Graph
from layoutopt.mlir.module import Module, exported_name, has_work, parse_module
from layoutopt.options import Options
from layoutopt.output import check_writable
from layoutopt.plan_file import FunctionPlan, fingerprint, write_plan
from layoutopt.planner import GraphPlan, plan_graph
from layoutopt.pricers import at_device, open_pricer
from layoutopt.profiles.store import Store, store_path
from layoutopt.profiles.target import Target, load_target
from layoutopt.report.barriers import barriers
from layoutopt.report.build import Outcome, build_report
from layoutopt.report.captured import compare_captured, starts_from_constant
from layoutopt.report.report import Report
from layoutopt.source import Source, open_source
from layoutopt.steps import Clock, SilentSteps, Steps
from layoutopt.whole_model import Modules, hold_against_original


@dataclass(frozen=True)
class Plan:
    """The result of one optimization, ready to be written."""

    functions: tuple[FunctionPlan, ...]
    module: Module
    """The fastest module: the planned one, or the original where nothing was faster."""
    compile_flags: tuple[str, ...]
    report: Report

    def apply(self, path: Path | str) -> None:
        """Write the module, with its compile flags recorded inside. ``.mlirbc`` for bytecode."""
        target = Path(path)
        check_writable(target)
        self.module.write(target, self.compile_flags)

    def save(self, path: Path | str) -> None:
        """Write the choices as JSON, for ``layoutopt optimize --plan``."""
        check_writable(Path(path))
        write_plan(Path(path), self.functions)


def optimize(
    model: Path | str,
    profile: str = "host",
    options: Options | None = None,
    steps: Steps | None = None,
    plan: Path | None = None,
) -> Plan:
    """Plan a whole model for a target and keep the fastest of plan and original.

    ``model``: ``.mlir``, ``.mlirbc`` or ``.onnx``. ``plan``: choices to use instead of a search.
    Raises InputError, MissingProfileError, SolverError or LoweringError.
    """
    options = options or Options()
    target = at_device(load_target(profile), options.device, None, options.threads)
    clock = Clock(steps or SilentSteps())
    with tempfile.TemporaryDirectory(prefix="layoutopt-") as name:
        job = _Job(Path(model), target, options, clock, Path(name), plan)
        return job.run()


@dataclass
class _Job:
    model: Path
    target: Target
    options: Options
    clock: Clock
    folder: Path
    plan: Path | None

    def run(self) -> Plan:
        with self.clock.stage("read"):
            source = open_source(
                self.model, self.folder, self.target.flags, self.options.compile_timeout_s
            )
            module = parse_module(source.path)
        unreached = tuple(barriers(module))
        places = [i for i, g in enumerate(module.graphs) if has_work(g)]
        graphs = tuple(module.graphs[i] for i in places)
        names = tuple(exported_name(module.names[i]) for i in places)
        signatures = [s for s in map(module.signature, places) if s is not None]
        plans = self._plans(names, graphs)
        with self.clock.stage("lower"):
            lowered = tuple(p.lowered() for p in plans)
            for place, low in zip(places, lowered, strict=True):
                module.replace(place, low)
            flags = self._flags(source, plans)
            optimized = self.folder / "optimized.mlir"
            module.write(optimized, flags)
            if any(p.io for p in plans):  # what runs must take and give what the original does
                checked = parse_module(source.path)
                for place, plan in zip(places, plans, strict=True):
                    checked.replace(place, plan.lowered(row_major_io=True))
                checked.write(optimized, flags)
        modules = Modules(self.model, source, optimized, flags, signatures, self.folder)
        held = hold_against_original(modules, self.target, self.options, self.clock)
        winner = OPTIMIZED if self.options.objective == "conversions" else held.winner
        captured = None
        if any(map(starts_from_constant, graphs)):
            plain = (*source.phase_flags, *self.target.flags)
            written = (optimized, flags) if winner == OPTIMIZED else (source.path, plain)
            captured = compare_captured((source.path, plain), written, self.folder, self.options)
        if winner != OPTIMIZED and held.evaluation is not None:
            flags = held.evaluation.result(winner).flags
            module = parse_module(source.path)
        report = build_report(
            Outcome(
                str(self.model),
                self.target,
                "measured" if self.target.measurable else "analytic",
                names,
                graphs,
                plans,
                tuple(low.graph for low in lowered),
                held.evaluation,
                held.dispatches,
                winner,
                flags,
                self.clock.seconds,
                unreached,
                captured,
                self.options.objective,
            )
        )
        functions = tuple(
            FunctionPlan(n, fingerprint(g), p.choice, p.costs, p.conversion_costs, p.solution)
            for n, g, p in zip(names, graphs, plans, strict=True)
        )
        return Plan(functions, module, flags, report)

    def _plans(self, names: tuple[str, ...], graphs: tuple[Graph, ...]) -> tuple[GraphPlan, ...]:
        if self.plan is not None:
            functions = list(zip(names, graphs, strict=True))
            return tuple(given_plans(self.plan, self.model, functions, self.target, self.options))
        with (
            Store(store_path(self.options.cache)) as store,
            open_pricer(store, self.target, self.options) as pricer,
        ):
            return tuple(
                plan_graph(g, self.target, pricer, self.options, self.clock) for g in graphs
            )

    def _flags(self, source: Source, plans: Sequence[GraphPlan]) -> tuple[str, ...]:
        hinted = any(p.hinted for p in plans)
        tiling = (self.target.data_tiling_flag,) if hinted else ()
        return (*source.phase_flags, *self.target.flags, *tiling)
