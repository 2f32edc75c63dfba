"""The main job: read, plan, lower, verify, time, report."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutopt.avoided import Avoided
from layoutopt.blame import blamed
from layoutopt.converted import ConvertedModels, converted_folder
from layoutopt.dispatch_count import Dispatches
from layoutopt.errors import InputError, RefusedModuleError
from layoutopt.evaluated import OPTIMIZED
from layoutopt.given_plan import given_plans
from layoutopt.graph import Graph
from layoutopt.lowering import Lowered
from layoutopt.mlir.module import Module, exported_name, has_work, parse_module
from layoutopt.options import Options
from layoutopt.output import check_writable
from layoutopt.parameters.files import resolve
from layoutopt.plan_file import FunctionPlan, fingerprint, write_plan
from layoutopt.planner import GraphPlan, plan_graphs
from layoutopt.pricers import at_device, open_pricer
from layoutopt.profiles.store import Store, cache_folder, store_path
from layoutopt.profiles.target import Target, load_target
from layoutopt.report.barriers import barriers
from layoutopt.report.build import build_report, described
from layoutopt.report.captured import compare_captured, starts_from_constant
from layoutopt.report.outcome import Outcome
from layoutopt.report.report import CapturedReport, Report
from layoutopt.runtime.measure import iree_version
from layoutopt.source import Source, open_source
from layoutopt.steps import Clock, SilentSteps, Steps
from layoutopt.weight_budget import weight_bytes
from layoutopt.whole_model import Held, Modules, hold_against_original
from layoutopt.written import Written

_ATTEMPTS = 5
"""Plans that are tried at most, each without what IREE refused inside the ones before."""


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
        signatures = [s for s in map(module.signature, places) if s is not None]
        came = module.census(places)
        already = module.stored_globals.keys()
        avoided = self._avoided(graphs)
        for attempt in range(_ATTEMPTS):
            plans = self._plans(names, graphs, avoided)
            flags, optimized = self._lower(source, module, places, graphs, plans)
            modules = Modules(
                self.model, source, optimized, flags, signatures, self.folder, archives
            )
            held = Held()
            try:
                if plans:
                    held = hold_against_original(modules, self.target, self.options, self.clock)
                avoided.remember()
                break
            except RefusedModuleError as error:
                last = attempt == _ATTEMPTS - 1 or self.plan is not None
                if last or not avoided.add([blamed(p, error.dispatches) for p in plans]):
                    raise
                module = parse_module(source.path)
        written = self._written(source, module, optimized, flags, held, _is_free(plans))
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
            Outcome(
                str(self.model),
                self.target,
                names,
                graphs,
                plans,
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
            )
        )
        functions = tuple(
            FunctionPlan(
                n, fingerprint(g), p.choice, p.costs, p.conversion_costs, p.solution, described(p)
            )
            for n, g, p in zip(names, graphs, plans, strict=True)
        )
        return Plan(functions, written.module, written.flags, report)

    def _written(
        self,
        source: Source,
        module: Module,
        optimized: Path,
        flags: tuple[str, ...],
        held: Held,
        free: bool,
    ) -> Written:
        """The module that is kept: the plan, or the original where nothing was faster."""
        winner = OPTIMIZED if self.options.objective == "conversions" else held.winner
        if winner != OPTIMIZED and held.evaluation is not None:
            flags = held.evaluation.result(winner).flags
            return Written(parse_module(source.path), source.path, flags, winner, True)
        path = self.folder / "written.mlirbc" if free else optimized
        return Written(module, path, flags, winner, not free)

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
            if _is_free(plans):  # what runs must take and give what the original does
                module.write(self.folder / "written.mlirbc", flags)
                checked = parse_module(source.path)
                for place, plan in zip(places, plans, strict=True):
                    checked.replace(place, plan.lowered(row_major_io=True))
                checked.write(optimized, flags)
        return flags, optimized

    def _avoided(self, graphs: tuple[Graph, ...]) -> Avoided:
        """What an earlier run of this model learned that IREE refuses inside it."""
        target, options = self.target, self.options
        folder = cache_folder(options.cache) / "models" if options.remember else None
        common = (target.fingerprint, target.device, iree_version(), target.flags)
        return Avoided(folder, [repr((fingerprint(graph), *common)) for graph in graphs])

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
        avoided: Avoided,
    ) -> tuple[GraphPlan, ...]:
        if self.plan is not None:
            functions = list(zip(names, graphs, strict=True))
            return tuple(given_plans(self.plan, self.model, functions, self.target, self.options))
        with (
            Store(store_path(self.options.cache), renew=True) as store,
            open_pricer(store, self.target, self.options) as pricer,
        ):
            return plan_graphs(
                graphs, self.target, pricer, self.options, self.clock, avoided.digests
            )

    def _flags(self, source: Source, plans: Sequence[GraphPlan]) -> tuple[str, ...]:
        hinted = any(p.hinted for p in plans)
        tiling = (self.target.data_tiling_flag,) if hinted else ()
        return (*source.phase_flags, *self.target.flags, *tiling)


def _is_free(plans: Sequence[GraphPlan]) -> bool:
    """Whether some input or output lies in another layout than the original's."""
    return any(not layout.is_row_major for plan in plans for layout in plan.io.values())
