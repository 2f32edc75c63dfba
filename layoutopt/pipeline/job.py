"""The main job: the stages one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from layoutopt.ir.graph import Graph
from layoutopt.mlir.module import has_work, parse_module
from layoutopt.mlir.read.census import ModuleCensus
from layoutopt.options import Objective, Options
from layoutopt.pipeline.attempts import Attempts
from layoutopt.pipeline.plan import Plan, PlannedFunction
from layoutopt.pipeline.stages import LoweredModel, Model, ModelSource, read
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.pricing.analytic.compiled_kernels import Kernels
from layoutopt.pricing.pricers import kernels_path
from layoutopt.pricing.prices import Pricer
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.store import cache_folder, utc
from layoutopt.profiles.target import Target
from layoutopt.report.barriers import barriers
from layoutopt.report.build import build_report
from layoutopt.report.captured import compare_captured, starts_from_constant
from layoutopt.report.optimization_result import OptimizationResult
from layoutopt.report.report import BlockReport, CapturedReport, Report
from layoutopt.report.units import milliseconds
from layoutopt.runtime.steps import Clock, SilentSteps, Steps
from layoutopt.solver import TimeLimit
from layoutopt.verification.dispatch_count import Dispatches
from layoutopt.verification.evaluated import OPTIMIZED
from layoutopt.verification.planned_calls import planned_calls
from layoutopt.verification.planned_dispatches import planned_dispatches
from layoutopt.verification.subjects import subjects_of
from layoutopt.verification.whole_model import Comparison
from layoutopt.verification.written_module import CompiledModules, Written


def optimize(
    model: ModelSource,
    profile: str | Target = "host",
    options: Options | None = None,
    steps: Steps | None = None,
    plan: Path | None = None,
    pricer: Pricer | None = None,
) -> Plan:
    """Plan a whole model for a target and keep the fastest of plan and original.

    ``plan``: choices to use instead of a search. ``pricer``: prices of one's own in place of the
    target's. Raises InputError, MissingProfileError, SolverError or LoweringError.
    """
    options = options or Options()
    clock = Clock(steps or SilentSteps())
    with clock.stage("read"):
        opened = read(model, profile, options)
    with opened:
        limit = TimeLimit(options.time_limit_s)
        return _Job(opened, clock, Attempts(opened, clock, plan, pricer, limit)).run()


@dataclass
class _Job:
    """The stages one after another."""

    model: Model
    clock: Clock
    attempts: Attempts

    def run(self) -> Plan:
        model = self.model
        started = utc(datetime.now(UTC))
        made = self.attempts.plan()
        lost_before = self._loss(made.held, started)
        if lost_before:
            again = self.attempts.plan(started)
            if again.held.kept_for:  # no plan could be used: the first one lost, but it can be
                lost_before = ""
            else:
                made = again
        held = made.held
        written = self._written(made.lowered, held)
        found = self._result(made.plans, written, held)
        report = build_report(replace(found, lost_before=lost_before))
        slower = self._predicted_loss(report, held)
        if slower:
            held = replace(held, kept=model.target.flag_sets[0], kept_for=slower)
            written = self._written(made.lowered, held)
            report = build_report(self._result(made.plans, written, held))
        functions = tuple(
            PlannedFunction(f.name, f.graph, p)
            for f, p in zip(model.functions, made.plans, strict=True)
        )
        return Plan(functions, model.target.name, written.module, written.flags, report)

    def _loss(self, held: Comparison, started: str) -> str:
        """How the plan lost to one of IREE's flag sets, where newer prices may make another one.

        Those of earlier runs may have been taken while the machine was busy. A loss that an earlier
        run saw is not one: it measured again.
        """
        attempts = self.attempts
        own_prices = attempts.given is None and attempts.pricer is None
        if not own_prices or held.evaluation is None or held.kept_for or attempts.limit.is_over:
            return ""
        best, mine = held.best_original, held.evaluation.result(OPTIMIZED).milliseconds
        counts = self.model.options.objective is Objective.CONVERSIONS
        seen = held.evaluation.date_utc < started
        if counts or seen or held.winner == OPTIMIZED or best is None or mine is None:
            return ""
        return f"{mine:.3g} ms, and '{best.name}' {best.milliseconds:.3g} ms"

    def _predicted_loss(self, report: Report, held: Comparison) -> str:
        """How much slower the plan is by its own estimate, compiled as a whole; else empty.

        A plan that was asked for is written all the same, and so is one with fewest conversions.
        """
        counts = self.model.options.objective is Objective.CONVERSIONS
        if counts or self.attempts.given is not None or held.winner != OPTIMIZED:
            return ""
        before, after = report.before.predicted_ms, report.after.predicted_ms
        if held.evaluation is not None or before is None or after is None or after <= before:
            return ""
        return (
            f"the plan is predicted to take {milliseconds(after)} ms, "
            f"and the original {milliseconds(before)} ms, estimated and not measured"
        )

    def _result(
        self, plans: tuple[GraphPlan, ...], written: Written, held: Comparison
    ) -> OptimizationResult:
        model = self.model
        functions = model.functions
        graphs = tuple(f.graph for f in functions)
        dispatches = Dispatches(None, None, "nothing was planned, so nothing was compiled")
        compiled = self._compiled(plans, written, held)
        if compiled is not None:
            dispatches = compiled.dispatches
        elif plans:
            with self.clock.stage("count"):
                dispatches = written.dispatches(
                    model.source,
                    model.target,
                    held.evaluation,
                    model.folder,
                    model.options.compile_timeout_s,
                )
        already = model.module.stored_globals.keys()
        computed = written.module.stored_globals
        return OptimizationResult(
            str(model.path),
            model.target,
            tuple(f.name for f in functions),
            graphs,
            plans,
            held.verification,
            held.evaluation,
            dispatches,
            self._census_before(),
            written.module.census(),
            tuple(size for symbol, size in computed.items() if symbol not in already),
            written.variant,
            written.flags,
            self.clock.seconds,
            tuple(barriers(model.module)),
            self._captured(written, graphs),
            model.options,
            held.kept_for,
            tuple(self._blocks(written)),
            self._alone(plans, held),
            compiled,
            size_names=model.size_names,
            decomposed=model.source.decomposed,
            restated=model.source.restated,
            written_out=model.module.written_out,
            weight_reuse=self.attempts.weight_reuse,
        )

    def _alone(
        self, plans: tuple[GraphPlan, ...], held: Comparison
    ) -> Mapping[str, tuple[str, ...]]:
        """The dispatches of what was chosen, each compiled alone, where those of the plan ran."""
        if held.evaluation is None or not held.evaluation.result(OPTIMIZED).calls:
            return {}
        model = self.model
        with self.clock.stage("count"):
            bodies = [body for plan in plans for body in plan.bodies]
            found = (body.piece(key) for body in bodies for key in body.chosen)
            pieces = [piece for piece in found if piece is not None]
            options = model.options
            memory = cache_folder(options.cache) / "models" if options.remember else None
            return planned_dispatches(pieces, model.folder, options.compile_timeout_s, memory)

    def _compiled(
        self, plans: tuple[GraphPlan, ...], written: Written, held: Comparison
    ) -> CompiledModules | None:
        """Both modules compiled for the target, where kernels are priced and nothing was timed.

        Not where the model has control flow that is planned: the compiled code does not tell how
        often each of its kernels runs.
        """
        model = self.model
        priced = plans and plans[0].source is PriceSource.COMPILED
        flows = any(self._blocks()) or bool(model.module.written_out)
        if not priced or held.evaluation is not None or flows:
            return None
        with self.clock.stage("count"):
            kernels = Kernels(kernels_path(model.options), model.target.place)
            limit_s = model.options.compile_timeout_s
            places = [f.place for f in model.functions]
            calls = planned_calls(subjects_of(model.module, places, model.options))
            return written.compiled(model.source, model.target, kernels, limit_s, calls)

    def _census_before(self) -> ModuleCensus:
        """Of the module before anything was done to its loops."""
        module = self.model.module
        if not module.ahead and not module.written_out:
            return module.census([f.place for f in self.model.functions])
        came = parse_module(self.model.source.path)
        return came.census([i for i, graph in enumerate(came.graphs) if has_work(graph)])

    def _blocks(self, written: Written | None = None) -> Iterator[BlockReport]:
        """The blocks of control flow that are planned, and functions that are called often.

        ``written``: what was written, which tells what became of loops.
        """
        planned = written is not None and written.variant == OPTIMIZED
        ahead = self.model.module.ahead if planned else {}
        unrolled = {} if written is None else written.unrolled
        given = self.model.trip_counts
        unknown = self.model.module.uncounted
        for f in self.model.functions:
            if not f.is_whole or f.runs != 1:
                names = tuple(name for name in unknown.get(f.name, ()) if name not in given)
                yield BlockReport(
                    f.name,
                    f.within,
                    f.runs,
                    names,
                    ahead.get(f.name, 0),
                    unrolled.get(f.name, 1),
                )

    def _written(self, lowered: LoweredModel, held: Comparison) -> Written:
        """The module that is kept: the plan, or the original where nothing was faster."""
        model = self.model
        counts = model.options.objective is Objective.CONVERSIONS
        winner = OPTIMIZED if counts and not held.kept_for else held.winner
        if winner == OPTIMIZED:
            flags = (*lowered.flags, *held.verification.more_flags)
            return Written(lowered.module, lowered.path, flags, winner, lowered.unrolled)
        (own,) = (f for f in model.target.flag_sets if f.name == winner)
        flags = (
            *model.source.phase_flags,
            *model.target.flags,
            *own.flags,
            *held.verification.more_flags,
        )
        return Written(parse_module(model.source.path), model.source.path, flags, winner)

    def _captured(self, written: Written, graphs: tuple[Graph, ...]) -> CapturedReport | None:
        if not any(map(starts_from_constant, graphs)):
            return None
        model = self.model
        plain = (*model.source.phase_flags, *model.target.flags)
        before, after = (model.source.path, plain), (written.path, written.flags)
        with self.clock.stage("count constants"):
            return compare_captured(before, after, model.folder, model.options)
