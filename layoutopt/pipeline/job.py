"""The main job: the stages one after another, and what it hands out."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from layoutopt.errors import (
    InputError,
    LayoutoptError,
    LoweringError,
    RefusedModuleError,
    SolverError,
)
from layoutopt.files.written import check_writable
from layoutopt.ir.graph import Graph
from layoutopt.ir.types import TensorType
from layoutopt.ir.weights import constant_names, weight_bytes
from layoutopt.mlir.module import Module, parse_module
from layoutopt.mlir.read.located import operands_at
from layoutopt.options import Objective, Options
from layoutopt.pipeline.stages import (
    LoweredModel,
    Model,
    ModelSource,
    compared_modules,
    lower,
    prices,
    read,
    verify,
)
from layoutopt.planning.given_plan import AskedPlans, given_plans
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.known_refusals import KnownRefusals
from layoutopt.planning.plan_file import (
    CarriedLayout,
    PlanFile,
    fingerprint,
    function_plans,
    write_plan,
)
from layoutopt.planning.planner import plan_graphs
from layoutopt.planning.setting import PlanSetting
from layoutopt.pricing.analytic.compiled_kernels import Kernels
from layoutopt.pricing.at_sizes import AtSizes
from layoutopt.pricing.pricers import kernels_path
from layoutopt.pricing.prices import Pricer
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.store import cache_folder, utc
from layoutopt.profiles.target import Target
from layoutopt.report.barriers import barriers
from layoutopt.report.build import build_report
from layoutopt.report.captured import compare_captured, starts_from_constant
from layoutopt.report.html import html_page
from layoutopt.report.optimization_result import OptimizationResult
from layoutopt.report.report import BlockReport, CapturedReport, Report
from layoutopt.runtime.steps import Clock, SilentSteps, Steps
from layoutopt.runtime.version import iree_version
from layoutopt.solver import TimeLimit
from layoutopt.verification.attribution import attributed, data_tiled
from layoutopt.verification.dispatch_count import Dispatches
from layoutopt.verification.evaluated import OPTIMIZED
from layoutopt.verification.whole_model import (
    Comparison,
    OtherResultsError,
    flags_of_original,
    keep_original,
)
from layoutopt.verification.written_module import CompiledModules, Written

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
        return _Job(opened, clock, plan, pricer, TimeLimit(options.time_limit_s)).run()


def known_refusals(graphs: Sequence[Graph], target: Target, options: Options) -> KnownRefusals:
    """What an earlier run of these functions learned that IREE refuses inside the model."""
    folder = cache_folder(options.cache) / "models" if options.remember else None
    compiled = (target.place, target.device, iree_version(), target.flags)
    searched = (target.fingerprint, options.objective.value, options.exact)
    keys = [repr((fingerprint(graph), *compiled, *searched)) for graph in graphs]
    return KnownRefusals(folder, keys)


@dataclass(frozen=True)
class _Made:
    """Plans of all functions, and what came of them."""

    plans: tuple[GraphPlan, ...]
    lowered: LoweredModel
    held: Comparison


@dataclass
class _Job:
    """The stages one after another, again where IREE refuses a plan inside the model."""

    model: Model
    clock: Clock
    plan: Path | None
    pricer: Pricer | None
    limit: TimeLimit
    """For solving, for all functions and all plans that are tried."""
    one_body: str = ""
    """Why each function has one plan for all of its sizes; empty where there may be several."""

    def run(self) -> Plan:
        model = self.model
        started = utc(datetime.now(UTC))
        made = self._made()
        lost_before = self._loss(made.held, started)
        if lost_before:
            again = self._made(started)
            if again.held.kept_for:  # no plan could be used: the first one lost, but it can be
                lost_before = ""
            else:
                made = again
        written = self._written(made.lowered, made.held)
        found = self._result(made.plans, written, made.held)
        report = build_report(replace(found, lost_before=lost_before))
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
        own_prices = self.plan is None and self.pricer is None
        if not own_prices or held.evaluation is None or held.kept_for or self.limit.is_over:
            return ""
        best, mine = held.evaluation.best_original, held.evaluation.result(OPTIMIZED).milliseconds
        counts = self.model.options.objective is Objective.CONVERSIONS
        seen = held.evaluation.date_utc < started
        if counts or seen or held.winner == OPTIMIZED or best is None or mine is None:
            return ""
        return f"{mine:.3g} ms, and '{best.name}' {best.milliseconds:.3g} ms"

    def _made(self, since: str = "") -> _Made:
        """Plans, the module of them and how it compares; prices are no older than ``since``."""
        model = self.model
        graphs = tuple(f.graph for f in model.functions)
        refused = known_refusals(graphs, model.target, model.options)
        last: tuple[LoweredModel, LoweringError] | None = None
        for attempt in range(_ATTEMPTS):
            try:
                plans = self._plans(refused, since)
            except SolverError as error:
                if last is None:
                    raise self._refusal(error) from error
                held = self._kept(*last)  # no plan is left without what IREE refused
                break
            with self.clock.stage("lower"):
                self._check_copies(graphs, plans)
                lowered = lower(model, plans)
            try:
                held = verify(model, lowered, self.clock, since)
                refused.remember()
                break
            except LoweringError as error:
                last = lowered, error
                if self._learns(error, attempt, lowered, refused):
                    continue
                held = self._kept(lowered, error)
                break
        return _Made(plans, lowered, held)

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
            model.module.census([f.place for f in functions]),
            written.module.census(),
            tuple(size for symbol, size in computed.items() if symbol not in already),
            written.variant,
            written.flags,
            self.clock.seconds,
            tuple(barriers(model.module)),
            self._captured(written, graphs),
            model.options,
            held.kept_for,
            tuple(self._blocks()),
            compiled,
        )

    def _compiled(
        self, plans: tuple[GraphPlan, ...], written: Written, held: Comparison
    ) -> CompiledModules | None:
        """Both modules compiled for the target, where kernels are priced and nothing was timed.

        Not where blocks of control flow are planned, or several bodies: the compiled code does not
        tell how often each of its kernels runs.
        """
        model = self.model
        priced = plans and plans[0].source is PriceSource.COMPILED
        branching = any(self._blocks()) or any(p.specializations for p in plans)
        if not priced or held.evaluation is not None or branching:
            return None
        with self.clock.stage("count"):
            kernels = Kernels(kernels_path(model.options), model.target.place)
            limit_s = model.options.compile_timeout_s
            return written.compiled(model.source, model.target, kernels, limit_s)

    def _blocks(self) -> Iterator[BlockReport]:
        """The blocks of control flow that are planned, and functions that are called often."""
        given = self.model.trip_counts
        unknown = self.model.module.uncounted
        for f in self.model.functions:
            if not f.is_whole or f.runs != 1:
                names = tuple(name for name in unknown.get(f.name, ()) if name not in given)
                yield BlockReport(f.name, f.within, f.runs, names)

    def _written(self, lowered: LoweredModel, held: Comparison) -> Written:
        """The module that is kept: the plan, or the original where nothing was faster."""
        model = self.model
        counts = model.options.objective is Objective.CONVERSIONS
        winner = OPTIMIZED if counts and not held.kept_for else held.winner
        if winner == OPTIMIZED:
            return Written(lowered.module, lowered.path, lowered.flags, winner)
        (own,) = (f for f in model.target.flag_sets if f.name == winner)
        flags = (*model.source.phase_flags, *model.target.flags, *own.flags)
        return Written(parse_module(model.source.path), model.source.path, flags, winner)

    def _captured(self, written: Written, graphs: tuple[Graph, ...]) -> CapturedReport | None:
        if not any(map(starts_from_constant, graphs)):
            return None
        model = self.model
        plain = (*model.source.phase_flags, *model.target.flags)
        before, after = (model.source.path, plain), (written.path, written.flags)
        with self.clock.stage("count constants"):
            return compare_captured(before, after, model.folder, model.options)

    def _learns(
        self, error: LoweringError, attempt: int, lowered: LoweredModel, refused: KnownRefusals
    ) -> bool:
        """Whether another plan may do: IREE refused this one, and it is known what it refused."""
        if not isinstance(error, RefusedModuleError) or self.plan is not None:
            return False
        if attempt == _ATTEMPTS - 1:
            return False
        located = operands_at(lowered.path, error.lines)

        def named(*, as_it_came: bool) -> list[frozenset[str]]:
            refusals = error.dispatches, located
            return [
                frozenset[str]().union(
                    *(attributed(body, *refusals, as_it_came=as_it_came) for body in p.bodies)
                )
                for p in lowered.plans
            ]

        return (
            refused.add(named(as_it_came=False))
            or refused.add(
                [frozenset[str]().union(*map(data_tiled, p.bodies)) for p in lowered.plans]
            )
            or refused.add(named(as_it_came=True))
            or self._gives_up_several(lowered, error)
        )

    def _gives_up_several(self, lowered: LoweredModel, error: RefusedModuleError) -> bool:
        """Whether functions had several plans; from now on each has one."""
        if not any(plan.specializations for plan in lowered.plans):
            return False
        self.one_body = f"iree-compile refused several in one module: {error.got}"
        return True

    def _kept(self, lowered: LoweredModel, error: LoweringError) -> Comparison:
        """The original in place of a plan that cannot be used; a given one ends in the error."""
        model = self.model
        if self.plan is None:
            modules = compared_modules(model, lowered)
            held = keep_original(modules, model.target, model.options, self.clock, error)
            if held is not None:
                return held
        raise self._refusal(error) from error

    def _refusal(self, error: LayoutoptError) -> LayoutoptError:
        """Why there is no plan: the reason is IREE's where it refuses the model as it came."""
        model = self.model
        taken = flags_of_original(
            model.source.path,
            model.source.phase_flags,
            model.target,
            model.folder,
            model.options.compile_timeout_s,
        )
        if not taken.reason or isinstance(error, OtherResultsError):
            return error
        works = taken.flag_set
        remedy = (
            "change what it names" if works is None else f"compile it with '{works.name}' flags"
        )
        return InputError(
            str(model.path),
            "a model that IREE compiles",
            f"'{taken.reason}' from iree-compile on the model as it came",
            f"{remedy}, or report it to IREE: no plan was made",
        )

    def _check_copies(self, graphs: tuple[Graph, ...], plans: tuple[GraphPlan, ...]) -> None:
        """A plan that was given may hold more copies of weights than the budget allows."""
        budget = self.model.options.weight_budget
        if self.plan is None or budget is None:
            return
        most = budget.size_bytes(weight_bytes(graphs))
        copies: dict[Hashable, TensorType] = {}
        for place, (graph, plan) in enumerate(zip(graphs, plans, strict=True)):
            for body in plan.bodies:
                copies |= body.lowered().copied_weights(constant_names(graph, place))
        copied = sum(kind.size_bytes for kind in copies.values())
        if copied > most:
            raise InputError(
                str(self.plan),
                f"a plan with at most {most} bytes of copied weights",
                f"{copied}",
                "make the plan again with this budget",
            )

    def _plans(self, refused: KnownRefusals, since: str) -> tuple[GraphPlan, ...]:
        model = self.model
        if self.plan is not None:
            asked = AskedPlans(
                model.path,
                [(f.name, f.graph) for f in model.functions],
                model.flow,
                [f.one_body for f in model.functions],
            )
            return given_plans(self.plan, asked, model.target, model.options)
        if self.pricer is not None:
            return self._planned(self.pricer, refused)
        with prices(model.target, model.options, since) as pricer:
            return self._planned(pricer, refused)

    def _planned(self, pricer: Pricer, refused: KnownRefusals) -> tuple[GraphPlan, ...]:
        model = self.model
        graphs = tuple(f.graph for f in model.functions)
        setting = PlanSetting(model.target, AtSizes(pricer), model.options, self.limit, self.clock)
        one_body = [f.one_body or self.one_body for f in model.functions]
        return plan_graphs(graphs, setting, refused.digests, model.flow, one_body)
