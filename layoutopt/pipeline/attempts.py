"""Plans of all functions, again where IREE refuses one inside the model or computes it wrong."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from layoutopt.errors import (
    InputError,
    LayoutoptError,
    LoweringError,
    RefusedModuleError,
    SolverError,
)
from layoutopt.ir.graph import Graph
from layoutopt.ir.types import TensorType
from layoutopt.ir.weights import WeightReuse, constant_names, weight_bytes
from layoutopt.mlir.read.located import operands_at
from layoutopt.options import Objective, Options
from layoutopt.pipeline.stages import LoweredModel, Model, compared_modules, lower, prices, verify
from layoutopt.planning.explored import Explored
from layoutopt.planning.given_plan import AskedPlans, given_plans
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.known_refusals import KnownRefusals
from layoutopt.planning.plan_file import fingerprint
from layoutopt.planning.planner import plan_graphs
from layoutopt.planning.setting import PlanSetting
from layoutopt.pricing.at_sizes import AtSizes
from layoutopt.pricing.microkernels import with_microkernels
from layoutopt.pricing.pricers import weights_of
from layoutopt.pricing.prices import Measured, Pricer
from layoutopt.profiles.store import cache_folder
from layoutopt.profiles.target import Target
from layoutopt.runtime.refused_alone import refused_alone
from layoutopt.runtime.sampling import WeightsFrom
from layoutopt.runtime.steps import Clock
from layoutopt.runtime.version import iree_version
from layoutopt.solver import TimeLimit
from layoutopt.verification.attribution import attributed, data_tiled
from layoutopt.verification.whole_model import (
    Comparison,
    OtherResultsError,
    OverMemoryError,
    flags_of_original,
    keep_original,
)

_LEAST_SHARE, _FINEST_SHARE = 0.3, 0.01
"""Of a memory budget that plans are made for at last, and what two such shares differ by at least.
"""
_ATTEMPTS = 8
"""Plans that are tried at most, each without what IREE refused inside the ones before."""


@dataclass(frozen=True)
class Attempt:
    """Plans of all functions, and what came of them."""

    plans: tuple[GraphPlan, ...]
    lowered: LoweredModel
    held: Comparison


@dataclass
class MemoryShare:
    """Of the memory budget, the share that plans are made for: a module holds more than its plan.

    IREE lays out tensors with gaps, and holds what may run side by side.
    """

    share: float = 1.0
    _tried: float = 1.0
    """The last one that there was a plan for."""

    @property
    def is_whole(self) -> bool:
        """Whether plans are made for the budget as it is."""
        return self.share == 1.0

    def lower_it(self, factor: float) -> bool:
        """The module of a plan holds too much, by this factor; whether another plan may do."""
        self._tried, self.share = self.share, self.share * factor
        return self.share > _LEAST_SHARE

    def raise_it(self) -> bool:
        """No plan takes as little; whether there is something in between."""
        self.share = (self.share + self._tried) / 2
        return self._tried - self.share > _FINEST_SHARE


@dataclass
class Attempts:
    """Plans, lowers and verifies a model until a plan holds or none is left."""

    model: Model
    clock: Clock
    given: Path | None
    """A plan file with the choices to use instead of a search."""
    pricer: Pricer | None
    limit: TimeLimit
    """For solving, for all functions and all plans that are tried."""
    one_body: str = ""
    """Why each function has one plan for all of its sizes; empty where there may be several."""
    memory: MemoryShare = field(default_factory=MemoryShare)
    before: tuple[Explored, ...] = ()
    """What earlier plans enumerated, for each kind of data tiling."""
    grown: WeightReuse | None = None
    """What comes between two uses of a weight with a plan's copies of weights, where those are no
    longer where its prices found them."""

    @property
    def weight_reuse(self) -> WeightReuse:
        """What comes between two uses of a weight."""
        return self.grown or self.model.weight_reuse

    def _explored(self, pricer: Pricer) -> tuple[Explored, ...]:
        """What was enumerated: attempts differ in what is left out of it."""
        if not self.before:
            model = self.model
            graphs = [function.graph for function in model.functions]
            with self.clock.stage("try tiles"):
                target = with_microkernels(model.target, pricer, graphs)
            latency = model.options.objective is Objective.LATENCY
            elements = {t.element for g in graphs for t in g.types} if latency else ()
            self.before = tuple(Explored(t, model.options) for t in target.tilings(elements))
        return self.before

    def plan(self, since: str = "") -> Attempt:
        """Plans, the module of them and how it compares; prices are no older than ``since``."""
        model = self.model
        graphs = tuple(f.graph for f in model.functions)
        refused = known_refusals(graphs, model.target, model.options)
        last: tuple[LoweredModel, LoweringError] | None = None
        for attempt in range(_ATTEMPTS):
            try:
                plans = self._plans(refused, since)
            except InputError:
                if last is None or self.memory.is_whole:
                    raise
                if self.memory.raise_it() and attempt < _ATTEMPTS - 1:
                    continue
                held = self._kept(*last)  # no plan takes as little as it would have to
                break
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
        return Attempt(plans, lowered, held)

    def _plans(self, refused: KnownRefusals, since: str) -> tuple[GraphPlan, ...]:
        model = self.model
        if self.given is not None:
            asked = AskedPlans(
                model.path,
                [(f.name, f.graph) for f in model.functions],
                model.flow,
                [f.one_body for f in model.functions],
            )
            return given_plans(self.given, asked, model.target, model.options)
        if self.pricer is not None:
            return self._planned(self.pricer, refused)
        with prices(model.target, model.options, since, self.weight_reuse) as pricer:
            if isinstance(pricer, Measured):
                model.ahead.start()  # candidates are enumerated on one core
            plans = self._planned(pricer, refused)
        return self._plans(refused, since) if self._outgrows(plans) else plans

    def _outgrows(self, plans: tuple[GraphPlan, ...]) -> bool:
        """Whether copies of weights are too much for the cache that prices found weights in.

        Then they are taken anew, with weights from memory, and few copies may be the faster plan.
        """
        model, reuse = self.model, self.weight_reuse
        if not model.target.measurable or reuse.in_loop or reuse.planned:
            return False
        graphs = tuple(f.graph for f in model.functions)
        grown = reuse.of_plan(weight_bytes(graphs), _copied_bytes(graphs, plans))
        before, after = (weights_of(model.target, model.options, r) for r in (reuse, grown))
        outgrown = before is WeightsFrom.LAST_CACHE and after is WeightsFrom.MEMORY
        if outgrown:
            self.grown = grown
        return outgrown

    def _planned(self, pricer: Pricer, refused: KnownRefusals) -> tuple[GraphPlan, ...]:
        model = self.model
        graphs = tuple(f.graph for f in model.functions)
        options = model.options
        if options.memory_budget is not None:
            options = replace(options, memory_budget=options.memory_budget.part(self.memory.share))
        one_body = [f.one_body or self.one_body for f in model.functions]
        found = [
            plan_graphs(
                graphs,
                PlanSetting(each.target, AtSizes(pricer), options, self.limit, self.clock, each),
                refused.digests,
                model.flow,
                one_body,
            )
            for each in self.limit.shared(self._explored(pricer))
        ]
        return min(found, key=lambda plans: sum(plan.cost_ns for plan in plans))

    def _check_copies(self, graphs: tuple[Graph, ...], plans: tuple[GraphPlan, ...]) -> None:
        """A plan that was given may hold more copies of weights than the budget allows."""
        budget = self.model.options.weight_budget
        if self.given is None or budget is None:
            return
        most, copied = budget.size_bytes(weight_bytes(graphs)), _copied_bytes(graphs, plans)
        if copied > most:
            raise InputError(
                str(self.given),
                f"a plan with at most {most} bytes of copied weights",
                f"{copied}",
                "make the plan again with this budget",
            )

    def _learns(
        self, error: LoweringError, attempt: int, lowered: LoweredModel, refused: KnownRefusals
    ) -> bool:
        """Whether another plan may do: IREE refused this one, and it is known what it refused.

        Or it computes something else: what is data-tiled, each right by itself, may be wrong inside
        a model (IREE 3.13, batch_matmul of open sizes).
        """
        if self.given is not None or attempt == _ATTEMPTS - 1:
            return False
        tiled = [frozenset[str]().union(*map(data_tiled, p.bodies)) for p in lowered.plans]
        if isinstance(error, OtherResultsError):
            return refused.add(tiled)
        if isinstance(error, OverMemoryError):
            return self.memory.lower_it(error.share)
        if not isinstance(error, RefusedModuleError):
            return False
        located = operands_at(lowered.path, error.lines)
        dispatches = error.dispatches
        if not dispatches and not located:
            limit_s = self.model.options.compile_timeout_s
            dispatches = refused_alone(lowered.path, lowered.flags, limit_s)

        def named(*, as_it_came: bool) -> list[frozenset[str]]:
            refusals = dispatches, located
            return [
                frozenset[str]().union(
                    *(attributed(body, *refusals, as_it_came=as_it_came) for body in p.bodies)
                )
                for p in lowered.plans
            ]

        return (
            refused.add(named(as_it_came=False))
            or refused.add(tiled)
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
        if self.given is None:
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


def _copied_bytes(graphs: Sequence[Graph], plans: Sequence[GraphPlan]) -> int:
    """What plans' copies of weights in other layouts take, each once."""
    copies: dict[Hashable, TensorType] = {}
    for place, (graph, plan) in enumerate(zip(graphs, plans, strict=True)):
        for body in plan.bodies:
            copies |= body.lowered().copied_weights(constant_names(graph, place))
    return sum(kind.size_bytes for kind in copies.values())


def known_refusals(graphs: Sequence[Graph], target: Target, options: Options) -> KnownRefusals:
    """What an earlier run of these functions learned that IREE refuses inside the model."""
    folder = cache_folder(options.cache) / "models" if options.remember else None
    compiled = (target.place, target.device, iree_version(), target.flags)
    searched = (target.fingerprint, options.objective.value, options.exact)
    keys = [repr((fingerprint(graph), *compiled, *searched)) for graph in graphs]
    return KnownRefusals(folder, keys)
