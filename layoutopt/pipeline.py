"""The main job: read, plan, lower, verify, time, report."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from layoutopt.errors import (
    InputError,
    LayoutoptError,
    LoweringError,
    RefusedModuleError,
    SolverError,
)
from layoutopt.files.written import check_writable
from layoutopt.frontend.converted import ConvertedModels, converted_folder
from layoutopt.frontend.source import Source, open_source
from layoutopt.ir.graph import Graph
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.weights import weight_bytes
from layoutopt.mlir.module import Module, exported_name, has_work, parse_module
from layoutopt.mlir.read.located import operands_at
from layoutopt.options import Objective, Options
from layoutopt.parameters.files import resolve
from layoutopt.planning.given_plan import given_plans
from layoutopt.planning.known_refusals import KnownRefusals
from layoutopt.planning.plan_file import PlanFile, fingerprint, function_plan, write_plan
from layoutopt.planning.planner import GraphPlan, plan_graphs
from layoutopt.pricing.pricers import at_device, open_pricer
from layoutopt.profiles.store import Store, cache_folder, store_path
from layoutopt.profiles.target import Target, load_target
from layoutopt.report.barriers import barriers
from layoutopt.report.build import build_report
from layoutopt.report.captured import compare_captured, starts_from_constant
from layoutopt.report.optimization_result import OptimizationResult
from layoutopt.report.report import CapturedReport, Report
from layoutopt.runtime.steps import Clock, SilentSteps, Steps
from layoutopt.runtime.version import iree_version
from layoutopt.solver import TimeLimit
from layoutopt.verify.attribution import attributed
from layoutopt.verify.dispatch_count import Dispatches
from layoutopt.verify.evaluated import OPTIMIZED
from layoutopt.verify.modules import Modules
from layoutopt.verify.subjects import subjects_of, with_layouts
from layoutopt.verify.whole_model import (
    Comparison,
    OtherResultsError,
    compare_with_original,
    flags_of_original,
    keep_original,
)
from layoutopt.verify.written_module import Written

_ATTEMPTS = 8
"""Plans that are tried at most, each without what IREE refused inside the ones before."""


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

    def save(self, path: Path | str) -> None:
        """Write the choices as JSON, for ``layoutopt optimize --plan``."""
        check_writable(Path(path))
        functions = tuple(function_plan(f.name, f.graph, f.plan) for f in self.functions)
        objective = cast(Objective, self.report.objective)
        write_plan(Path(path), PlanFile(self.target, objective, functions))


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
        limit = TimeLimit(options.time_limit_s)
        job = _Job(Path(model), target, options, clock, Path(name), plan, limit)
        return job.run()


@dataclass
class _Job:
    model: Path
    target: Target
    options: Options
    clock: Clock
    folder: Path
    plan: Path | None
    limit: TimeLimit
    """For solving, for all functions and all plans that are tried."""

    def run(self) -> Plan:
        with self.clock.stage("read"):
            source, module = open_source(
                self.model,
                self.folder,
                self.target.flags,
                self.options.compile_timeout_s,
                ConvertedModels(converted_folder(self.options.cache)),
            )
            archives: tuple[tuple[str, Path], ...] = ()
            if self.target.measurable:
                archives = resolve(self.model, module.parameters, self.options.parameters)
        unreached = tuple(barriers(module))
        places = [i for i, g in enumerate(module.graphs) if has_work(g)]
        graphs = tuple(module.graphs[i] for i in places)
        names = tuple(exported_name(module.names[i]) for i in places)
        subjects = subjects_of(module, places, self.options)
        boundaries = {n: module.boundary(i) for n, i in zip(names, places, strict=True)}
        came = module.census(places)
        already = module.stored_globals.keys()
        refused = self._known_refusals(graphs)
        for attempt in range(_ATTEMPTS):
            try:
                plans = self._plans(names, graphs, refused)
            except SolverError as error:
                raise self._refusal(source, error) from error
            flags, optimized = self._lower(source, module, places, graphs, plans)
            layouts = {n: p.io for n, p in zip(names, plans, strict=True)}
            lying = with_layouts(subjects, boundaries, layouts)
            modules = Modules(
                self.model, source, optimized, flags, lying, graphs, self.folder, archives
            )
            try:
                held = compare_with_original(modules, self.target, self.options, self.clock)
                refused.remember()
                break
            except LoweringError as error:
                if self._learns(error, attempt, optimized, plans, refused):
                    module = self._read_again(source, places, graphs)
                    continue
                held = self._kept(modules, error)
                break
        written = self._written(source, module, places, graphs, optimized, flags, held)
        dispatches = Dispatches(None, None, "nothing was planned, so nothing was compiled")
        if plans:
            with self.clock.stage("count"):
                dispatches = written.dispatches(
                    source,
                    self.target,
                    held.evaluation,
                    self.folder,
                    self.options.compile_timeout_s,
                )
        computed = written.module.stored_globals
        report = build_report(
            OptimizationResult(
                str(self.model),
                self.target,
                names,
                graphs,
                plans,
                held.verification,
                held.evaluation,
                dispatches,
                came,
                written.module.census(),
                tuple(size for symbol, size in computed.items() if symbol not in already),
                written.variant,
                written.flags,
                self.clock.seconds,
                unreached,
                self._captured(source, written, graphs),
                self.options,
                held.kept_for,
            )
        )
        functions = tuple(map(PlannedFunction, names, graphs, plans))
        return Plan(functions, self.target.name, written.module, written.flags, report)

    def _written(
        self,
        source: Source,
        module: Module,
        places: Sequence[int],
        graphs: Sequence[Graph],
        optimized: Path,
        flags: tuple[str, ...],
        held: Comparison,
    ) -> Written:
        """The module that is kept: the plan, or the original where nothing was faster."""
        planned = self.options.objective == "conversions" and not held.kept_for
        winner = OPTIMIZED if planned else held.winner
        if winner != OPTIMIZED:
            (own,) = (f for f in self.target.flag_sets if f.name == winner)
            flags = (*source.phase_flags, *self.target.flags, *own.flags)
            again = self._read_again(source, places, graphs)
            return Written(again, source.path, flags, winner)
        return Written(module, optimized, flags, winner)

    def _captured(
        self, source: Source, written: Written, graphs: tuple[Graph, ...]
    ) -> CapturedReport | None:
        if not any(map(starts_from_constant, graphs)):
            return None
        plain = (*source.phase_flags, *self.target.flags)
        with self.clock.stage("count constants"):
            return compare_captured(
                (source.path, plain), (written.path, written.flags), self.folder, self.options
            )

    def _lower(
        self,
        source: Source,
        module: Module,
        places: Sequence[int],
        graphs: tuple[Graph, ...],
        plans: tuple[GraphPlan, ...],
    ) -> tuple[tuple[str, ...], Path]:
        """Write the plans into the module; hand back its flags and the file to compile."""
        with self.clock.stage("lower"):
            lowered = tuple(p.lowered() for p in plans)
            self._check_copies(graphs, lowered)
            for place, low in zip(places, lowered, strict=True):
                module.replace(place, low)
            flags = self._flags(source, plans)
            optimized = self.folder / "optimized.mlirbc"
            module.write(optimized, flags)
        return flags, optimized

    def _read_again(
        self, source: Source, places: Sequence[int], graphs: Sequence[Graph]
    ) -> Module:  # fmt: skip
        """The model once more, for another plan: the same graphs, or the plan goes elsewhere."""
        module = parse_module(source.path)
        again = [fingerprint(module.graphs[place]) for place in places]
        if again != [fingerprint(graph) for graph in graphs]:
            raise LoweringError(
                str(self.model),
                "the same graphs each time that it is read",
                "others",
                "report this as a bug of layoutopt",
            )
        return module

    def _learns(
        self,
        error: LoweringError,
        attempt: int,
        optimized: Path,
        plans: tuple[GraphPlan, ...],
        refused: KnownRefusals,
    ) -> bool:
        """Whether another plan may do: IREE refused this one, and it is known what it refused."""
        if not isinstance(error, RefusedModuleError) or self.plan is not None:
            return False
        if attempt == _ATTEMPTS - 1:
            return False
        located = operands_at(optimized, error.lines)
        return refused.add([attributed(p, error.dispatches, located) for p in plans])

    def _kept(self, modules: Modules, error: LoweringError) -> Comparison:
        """The original in place of a plan that cannot be used; a given one ends in the error."""
        if self.plan is None:
            held = keep_original(modules, self.target, self.options, self.clock, error)
            if held is not None:
                return held
        raise self._refusal(modules.source, error) from error

    def _refusal(self, source: Source, error: LayoutoptError) -> LayoutoptError:
        """Why there is no plan: the reason is IREE's where it refuses the model as it came."""
        limit_s = self.options.compile_timeout_s
        taken = flags_of_original(
            source.path, source.phase_flags, self.target, self.folder, limit_s
        )
        if not taken.reason or isinstance(error, OtherResultsError):
            return error
        works = taken.flag_set
        remedy = (
            "change what it names" if works is None else f"compile it with '{works.name}' flags"
        )
        return InputError(
            str(self.model),
            "a model that IREE compiles",
            f"'{taken.reason}' from iree-compile on the model as it came",
            f"{remedy}, or report it to IREE: no plan was made",
        )

    def _known_refusals(self, graphs: tuple[Graph, ...]) -> KnownRefusals:
        """What an earlier run of this model learned that IREE refuses inside it."""
        target, options = self.target, self.options
        folder = cache_folder(options.cache) / "models" if options.remember else None
        compiled = (target.place, target.device, iree_version(), target.flags)
        searched = (target.fingerprint, options.objective, options.exact)
        return KnownRefusals(
            folder, [repr((fingerprint(graph), *compiled, *searched)) for graph in graphs]
        )

    def _check_copies(self, graphs: tuple[Graph, ...], lowered: tuple[Lowered, ...]) -> None:
        """A plan that was given may hold more copies of weights than the budget allows."""
        budget = self.options.weight_budget
        if self.plan is None or budget is None:
            return
        most = budget.size_bytes(sum(map(weight_bytes, graphs)))
        copied = sum(kind.size_bytes for low in lowered for kind in low.copied_weights)
        if copied > most:
            raise InputError(
                str(self.plan),
                f"a plan with at most {most} bytes of copied weights",
                f"{copied}",
                "make the plan again with this budget",
            )

    def _plans(
        self,
        names: tuple[str, ...],
        graphs: tuple[Graph, ...],
        refused: KnownRefusals,
    ) -> tuple[GraphPlan, ...]:
        if self.plan is not None:
            functions = list(zip(names, graphs, strict=True))
            return tuple(given_plans(self.plan, self.model, functions, self.target, self.options))
        with (
            Store(store_path(self.options.cache), renew=True) as store,
            open_pricer(store, self.target, self.options) as pricer,
        ):
            return plan_graphs(
                graphs,
                self.target,
                pricer,
                self.options,
                self.clock,
                refused.digests,
                self.limit,
            )

    def _flags(self, source: Source, plans: Sequence[GraphPlan]) -> tuple[str, ...]:
        data_tiled = any(p.data_tiled for p in plans)
        tiling = (self.target.data_tiling_flag,) if data_tiled else ()
        return (*source.phase_flags, *self.target.flags, *tiling)
