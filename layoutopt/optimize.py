"""The main job: read, plan, lower, verify, time, report."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from layoutopt.compile_only import compile_both
from layoutopt.errors import InputError, LoweringError
from layoutopt.evaluated import OPTIMIZED, Evaluation
from layoutopt.evaluation import evaluate_variants, variants_of
from layoutopt.free_io import chosen_io
from layoutopt.graph import Graph
from layoutopt.lowering import Lowered
from layoutopt.mlir.module import Module, Signature, exported_name, has_work, parse_module
from layoutopt.options import Options
from layoutopt.parameters.files import resolve
from layoutopt.plan_file import FunctionPlan, fingerprint, read_plan, write_plan
from layoutopt.planner import GraphPlan, explore, plan_graphs
from layoutopt.prices import Analytic, Measured, Pricer
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import Target, load_target
from layoutopt.report.build import Outcome, build_report
from layoutopt.report.captured import compare_captured, starts_from_constant
from layoutopt.report.report import Report
from layoutopt.runtime.kernels import Kernels
from layoutopt.runtime.measure import Measurer
from layoutopt.source import Source, open_source
from layoutopt.steps import Clock, SilentSteps, Steps
from layoutopt.weight_budget import weight_bytes


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
    target = load_target(profile)
    if options.device is not None:
        target = replace(target, device=options.device, measurable=True)
    if options.threads > 1 and target.device == "local-sync":
        target = replace(target, device="local-task")
    clock = Clock(steps or SilentSteps())
    with tempfile.TemporaryDirectory(prefix="layoutopt-") as name:
        job = _Job(Path(model), target, options, clock, Path(name), plan)
        return job.run()


def check_writable(path: Path) -> None:
    """Raises InputError where a file cannot be written, before any work is done."""
    if path.is_dir():
        raise InputError(str(path), "a file to write", "a folder", "name a file in it")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent or Path()):
            pass
    except OSError as error:
        raise InputError(
            str(path),
            "a folder that can be written",
            error.strerror or str(error),
            "choose another output",
        ) from error


@dataclass
class _Job:
    model: Path
    target: Target
    options: Options
    clock: Clock
    folder: Path
    plan: Path | None
    archives: tuple[tuple[str, Path], ...] = ()

    def run(self) -> Plan:
        with self.clock.stage("read"):
            source = open_source(
                self.model, self.folder, self.target.flags, self.options.compile_timeout_s
            )
            module = parse_module(source.path)
            if self.target.measurable:
                self.archives = resolve(self.model, module.parameters, self.options.parameters)
        places = [i for i, g in enumerate(module.graphs) if has_work(g)]
        graphs = tuple(module.graphs[i] for i in places)
        names = tuple(exported_name(module.names[i]) for i in places)
        signatures = [s for s in map(module.signature, places) if s is not None]
        plans = self._plans(names, graphs)
        with self.clock.stage("lower"):
            lowered = tuple(p.lowered() for p in plans)
            self._check_copies(graphs, lowered)
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
        evaluation, dispatches = self._evaluate(source, optimized, flags, signatures)
        winner = _winner(evaluation)
        if self.options.objective == "conversions":
            winner = OPTIMIZED
        captured = None
        if any(map(starts_from_constant, graphs)):
            plain = (*source.phase_flags, *self.target.flags)
            written = (optimized, flags) if winner == OPTIMIZED else (source.path, plain)
            captured = compare_captured((source.path, plain), written, self.folder, self.options)
        if winner != OPTIMIZED and evaluation is not None:
            flags = evaluation.result(winner).flags
            module = parse_module(source.path)
        report = build_report(
            Outcome(
                str(self.model),
                self.target,
                "measured" if self.target.measurable else "analytic",
                names,
                graphs,
                plans,
                lowered,
                evaluation,
                dispatches,
                winner,
                flags,
                self.clock.seconds,
                captured,
                self.options.objective,
                self.options.weight_budget,
            )
        )
        functions = tuple(
            FunctionPlan(n, fingerprint(g), p.choice, p.costs, p.conversion_costs, p.solution)
            for n, g, p in zip(names, graphs, plans, strict=True)
        )
        return Plan(functions, module, flags, report)

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

    def _plans(self, names: tuple[str, ...], graphs: tuple[Graph, ...]) -> tuple[GraphPlan, ...]:
        if self.plan is not None:
            return tuple(self._given(names, graphs))
        with self._pricer() as pricer:
            return plan_graphs(graphs, self.target, pricer, self.options, self.clock)

    def _given(self, names: tuple[str, ...], graphs: tuple[Graph, ...]) -> Iterator[GraphPlan]:
        """Plans from a file, held against the model that they are for."""
        assert self.plan is not None
        known = {f.function: f for f in read_plan(self.plan)}
        for name, graph in zip(names, graphs, strict=True):
            found = known.get(name)
            if found is None or found.graph != fingerprint(graph):
                raise InputError(
                    str(self.plan),
                    f"a plan for function '{name}' of {self.model}",
                    "a plan for another model",
                    "make the plan again",
                )
            space = explore(graph, self.target)
            yield GraphPlan(
                space.egraph,
                space.clusters,
                found.choice,
                dict(found.costs),
                dict(found.conversion_costs),
                found.solution,
                space.refusals,
                None,
                chosen_io(space.egraph.graph, space.clusters, found.choice)
                if self.options.free_io_layout
                else {},
                self.options.lower_packs,
            )

    @contextmanager
    def _pricer(self) -> Iterator[Pricer]:
        path = self.options.cache_folder / "prices.sqlite"
        with Store(path) as store:
            if not self.target.measurable:
                kernels = None
                if self.options.compiled_facts and self.target.machine.matrix:
                    kernels = Kernels(path.with_name("kernels.jsonl"), self.target.fingerprint)
                yield Analytic(self.target, kernels, store, self.options.threads)
                return
            with Measurer(
                store, self.target.fingerprint, self.target.device, self.options.threads
            ) as measurer:
                yield Measured(measurer)

    def _flags(self, source: Source, plans: Sequence[GraphPlan]) -> tuple[str, ...]:
        hinted = any(p.hinted for p in plans)
        tiling = (self.target.data_tiling_flag,) if hinted else ()
        return (*source.phase_flags, *self.target.flags, *tiling)

    def _evaluate(
        self,
        source: Source,
        optimized: Path,
        flags: tuple[str, ...],
        signatures: Sequence[Signature],
    ) -> tuple[Evaluation | None, tuple[int | None, int | None]]:
        if not signatures:
            return None, (None, None)
        if not self.target.measurable:
            with self.clock.stage("compile"):
                plain = (source.path, (*source.phase_flags, *self.target.flags))
                timeout_s = self.options.compile_timeout_s
                return None, compile_both(plain, (optimized, flags), self.folder, timeout_s)
        with self.clock.stage("verify and time"):
            variants = variants_of(
                source.path,
                source.phase_flags,
                self.target.flags,
                self.target.flag_sets,
                optimized,
                flags,
            )
            evaluation = evaluate_variants(
                variants,
                signatures,
                self.folder,
                self.options.cache_folder / "models" if self.options.remember else None,
                self.target.device,
                self.options.threads,
                self.options.tolerance,
                self.options.compile_timeout_s,
                self.target.fingerprint,
                self.archives,
            )
        v = evaluation.verification
        if not v.passed:
            raise LoweringError(
                str(self.model),
                f"results within {v.tolerance:g} of the original",
                f"a relative error of {v.max_rel_error:.3g}",
                "raise --tolerance if the model amplifies rounding, else report this as a bug",
            )
        return evaluation, (None, None)


def _winner(evaluation: Evaluation | None) -> str:
    """The fastest module; the plan wins ties."""
    if evaluation is None:
        return OPTIMIZED
    best = evaluation.best_original
    mine = evaluation.result(OPTIMIZED).milliseconds
    if mine is None or (
        best is not None and best.milliseconds is not None and best.milliseconds < mine
    ):
        return best.name if best is not None else OPTIMIZED
    return OPTIMIZED
