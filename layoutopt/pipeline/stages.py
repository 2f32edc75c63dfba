"""The stages, each of them to be called by itself.

model = read("model.onnx")                       # linalg, and what is known of the target
functions = lift(model)                          # graphs
space = enumerate(functions[0].graph)            # candidates and conversions
with prices(weight_reuse=model.weight_reuse) as pricer:
    priced = price(space, pricer)                # nanoseconds
plan = select(space, priced)                     # the cheapest consistent choice
lowered = lower(model, [plan])                   # a module for IREE
result = verify(model, lowered)                  # equal results, times
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from layoutopt.errors import LoweringError
from layoutopt.frontend.converted import ConvertedModels, converted_folder
from layoutopt.frontend.in_memory import InMemory, written_down
from layoutopt.frontend.size_names import size_names
from layoutopt.frontend.size_ranges import with_ranges
from layoutopt.frontend.source import Source, open_source
from layoutopt.ir.fitting_sizes import fitting_sizes
from layoutopt.ir.graph import Graph
from layoutopt.ir.planned_sizes import divided, open_sizes, planned_for
from layoutopt.ir.weights import ONCE, WeightReuse, weight_reuse
from layoutopt.mlir.module import Module, exported_name, has_work, parse_for_planning
from layoutopt.options import Options
from layoutopt.oracle.size_limits import size_limits
from layoutopt.parameters.files import resolve
from layoutopt.pipeline.block_flow import (
    control_flow,
    mean_runs,
    one_body,
    trips_in_a_row,
)
from layoutopt.planning.chosen_sizes import check_ranges, chosen_sizes
from layoutopt.planning.chosen_trip_counts import chosen_trip_counts
from layoutopt.planning.control_flow import ControlFlow
from layoutopt.planning.explored import Explored
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.joint_space import JointSpace
from layoutopt.planning.plan_file import fingerprint
from layoutopt.planning.plan_space import PlanSpace, plan_space
from layoutopt.planning.planner import price_space, select_plans
from layoutopt.planning.priced import Priced
from layoutopt.planning.setting import PlanSetting
from layoutopt.pricing.at_sizes import AtSizes
from layoutopt.pricing.pricers import at_device, open_pricer
from layoutopt.pricing.prices import Pricer
from layoutopt.profiles.store import Store, store_path
from layoutopt.profiles.target import Target, load_target
from layoutopt.runtime.progress import Progress, Silent
from layoutopt.runtime.steps import Clock, SilentSteps
from layoutopt.runtime.workspace import PREFIX
from layoutopt.solver import TimeLimit
from layoutopt.verification.ahead import CompiledAhead
from layoutopt.verification.modules import Modules
from layoutopt.verification.subjects import subjects_of, with_layouts
from layoutopt.verification.whole_model import (
    Comparison,
    compare_with_original,
    originals,
)

ModelSource = Path | str | Graph | InMemory
"""A file (``.mlir``, ``.mlirbc``, ``.onnx``), MLIR text, a module of the bindings, or a graph."""


@dataclass(frozen=True)
class Function:
    """A function of a model that has something to plan, or a block of control flow inside one."""

    name: str
    """As a caller knows it; ``main/for.0`` is the body of the first loop in ``main``."""
    graph: Graph
    """As it came."""
    place: int = 0
    """Among the blocks of the module."""
    within: str = ""
    """The function that the block stands in."""
    is_whole: bool = True
    """Whether the block is all of it."""
    runs: int = 1
    """How often it runs in one call, as far as that is known."""
    one_body: str = ""
    """Why one plan has to serve all of its sizes; empty where there may be several."""


@dataclass(frozen=True)
class Model:
    """A model as linalg on tensors, its target, and a folder for what is made of both."""

    path: Path
    """What was given, for messages."""
    source: Source
    module: Module
    target: Target
    options: Options
    folder: Path
    """For intermediate files: removed with the model, or at the end of a ``with`` block."""
    archives: tuple[tuple[str, Path], ...] = ()
    """(scope, file) of the parameters that the model leaves outside."""
    size_names: Mapping[str, str] = field(default_factory=dict)
    """What the model calls sizes that are known at run time only."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Those to plan for, by name, where they are not what is planned for by default."""

    def __post_init__(self) -> None:
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *raised: object) -> None:
        self.ahead.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @cached_property
    def ahead(self) -> CompiledAhead:
        """What may compile the model as it came while it is planned."""
        limit_s = self.options.compile_timeout_s
        return CompiledAhead(
            originals(self.source, self.target, self.options), self.folder, limit_s
        )

    @property
    def trip_counts(self) -> dict[str, int]:
        """Those that the user gives, by block. Raises InputError where the model tells its own."""
        around = self.module.uncounted.values()
        unknown = tuple(dict.fromkeys(name for names in around for name in names))
        return chosen_trip_counts(unknown, self.options.trip_counts)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Those with something to plan, and those that hand tensors on to them."""
        blocks = self.module.blocks
        runs = mean_runs(self.module, self.trip_counts, self.options.sizes)
        busy = {place for place, block in _numbered(blocks) if has_work(block.graph)}
        for tied in self._whole_flow.groups:
            if busy.intersection(tied):
                busy.update(tied)
        return tuple(
            Function(
                exported_name(block.name),
                block.graph,
                place,
                exported_name(block.function),
                block.is_whole,
                runs[place],
                one_body(self.module, place, self.options.sizes),
            )
            for place, block in _numbered(blocks)
            if place in busy
        )

    @cached_property
    def weight_reuse(self) -> WeightReuse:
        """What a run goes through between two uses of a weight."""
        trips = trips_in_a_row(self.module, self.trip_counts, self.options.sizes)
        places = [f.place for f in self.functions]
        return weight_reuse((f.graph for f in self.functions), [trips[p] for p in places])

    @property
    def flow(self) -> ControlFlow:
        """What the graphs of ``functions`` hand to each other."""
        return self._whole_flow.among([f.place for f in self.functions])

    @property
    def _whole_flow(self) -> ControlFlow:
        free = self.options.free_state_layout
        return control_flow(self.module, self.trip_counts, self.options.sizes, free)


@dataclass(frozen=True)
class LoweredModel:
    """A planned module, and the file and flags that it is compiled from."""

    module: Module
    path: Path
    flags: tuple[str, ...]
    plans: tuple[GraphPlan, ...]
    unrolled: Mapping[str, int] = field(default_factory=dict)
    """By block of a loop that was unrolled, how many steps a trip runs."""


def read(
    model: ModelSource, profile: str | Target = "host", options: Options | None = None
) -> Model:
    """Bring a model to linalg on tensors. Raises InputError where that is not possible."""
    options = options or Options()
    target = _target(profile, options)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    try:
        path = written_down(model, folder)
        converted = ConvertedModels(converted_folder(options.cache))
        limit_s = options.compile_timeout_s
        source, module = open_source(path, folder, target.flags, limit_s, converted)
        names = size_names(path, module.graphs, source.size_names)
        if options.size_ranges:
            check_ranges(module.with_names(names).graphs, options.size_ranges)
            source, module = with_ranges(source, module, options.size_ranges, names)
        module = module.with_names(names)
        chosen = chosen_sizes(module.graphs, options.sizes)
        sizes = _limited(module.graphs) | chosen
        sizes |= _fitting(module.planned_for(sizes).graphs, chosen)
        module = module.planned_for(sizes)
        archives: tuple[tuple[str, Path], ...] = ()
        if target.measurable:
            archives = resolve(path, module.parameters, options.parameters)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Model(path, source, module, target, options, folder, archives, names, sizes)


def lift(model: Model) -> tuple[Function, ...]:
    """The dataflow graphs of the functions that have something to plan."""
    return model.functions


_numbered = enumerate


def enumerate(
    graph: Graph, profile: str | Target = "host", options: Options | None = None
) -> PlanSpace:
    """All candidates of a function and the conversions between them, as work to price."""
    options = options or Options()
    target = _target(profile, options)
    return plan_space(graph, Explored(target, options), estimated=not target.measurable)


@contextmanager
def prices(
    profile: str | Target = "host",
    options: Options | None = None,
    since: str = "",
    weight_reuse: WeightReuse = ONCE,
) -> Iterator[Pricer]:
    """The prices of a target: measured where it is here, else estimated; kept in the cache.

    ``since``: what was measured before this moment (UTC, ISO 8601) is measured anew.
    ``weight_reuse``: what comes between two uses of a weight (`Model.weight_reuse`), which tells
    where a run finds its weights.
    """
    options = options or Options()
    target = _target(profile, options)
    with (
        Store(store_path(options.cache), renew=True) as store,
        open_pricer(store, target, options, since=since, weight_reuse=weight_reuse) as pricer,
    ):
        yield pricer


def price(
    space: PlanSpace,
    pricer: Pricer,
    options: Options | None = None,
    progress: Progress | None = None,
    limit: TimeLimit | None = None,
) -> Priced:
    """Nanoseconds of what a plan may use.

    Where ``pricer`` measures, that is what the cheapest plans on lower bounds use, until one of
    them needs no more prices; else everything.
    """
    options = options or Options()
    limit = limit or TimeLimit(options.time_limit_s)
    setting = PlanSetting(space.target, AtSizes(pricer), options, limit, Clock(SilentSteps()))
    (priced,) = price_space(JointSpace.alone(space), setting, progress or Silent())
    return priced


def select(
    space: PlanSpace,
    priced: Priced,
    options: Options | None = None,
    limit: TimeLimit | None = None,
) -> GraphPlan:
    """The cheapest consistent plan. Raises SolverError where there is none."""
    options = options or Options()
    limit = limit or TimeLimit(options.time_limit_s)
    (plan,) = select_plans(JointSpace.alone(space), (priced,), options, limit)
    return plan


def lower(model: Model, plans: Sequence[GraphPlan]) -> LoweredModel:
    """Write plans, one for each of ``model.functions``, into a new copy of the module.

    Raises LoweringError where that is no valid module.
    """
    module = parse_for_planning(model.source.path)
    module = module.with_names(model.size_names).planned_for(model.sizes)
    again = [fingerprint(module.graphs[f.place]) for f in model.functions]
    if again != [fingerprint(f.graph) for f in model.functions]:
        raise LoweringError(
            str(model.path),
            "the same graphs each time that it is read",
            "others",
            "report this as a bug of layoutopt",
        )
    planned = {f.place: plan for f, plan in zip(model.functions, plans, strict=True)}
    carried = {end.name: end.layout for plan in plans for end in plan.ends.carried}
    module.replace_all(
        {place: p.lowered() for place, p in planned.items() if not p.specializations},
        carried,
        {
            place: [(s.ranges, s.plan.lowered()) for s in p.specializations]
            for place, p in planned.items()
            if p.specializations
        },
    )
    unrolled = module.unroll()
    flags = (*model.source.phase_flags, *model.target.flags, *_tiling_flags(model.target, plans))
    path = model.folder / "optimized.mlirbc"
    module.write(path, flags)
    return LoweredModel(module, path, flags, tuple(plans), unrolled)


def verify(
    model: Model, lowered: LoweredModel, clock: Clock | None = None, since: str = ""
) -> Comparison:
    """Compare the planned module's results with the original's, and time both.

    ``since``: what an earlier run told of the same modules is done anew where it is older (UTC).
    Raises LoweringError where the planned module does not compile or computes something else.
    """
    clock = clock or Clock(SilentSteps())
    return compare_with_original(
        compared_modules(model, lowered), model.target, model.options, clock, since
    )


def _tiling_flags(target: Target, plans: Sequence[GraphPlan]) -> tuple[str, ...]:
    """What the data tiling of some plans asks for."""
    bodies = [body for plan in plans for body in plan.bodies]
    if not any(body.data_tiled for body in bodies):
        return ()
    tilings = target.tilings(("i8",) if any(body.tiles_bytes for body in bodies) else ())
    return tilings[-1].data_tiling_flags


def _target(profile: str | Target, options: Options) -> Target:
    target = load_target(profile) if isinstance(profile, str) else profile
    return at_device(target, options.device, None, options.threads)


def _limited(graphs: Sequence[Graph]) -> dict[str, int]:
    """Sizes to plan for, by name, where a model means nothing at those that are planned for."""
    found: dict[str, int] = {}
    for graph in graphs:
        limits = size_limits(graph)
        for symbol in open_sizes(graph):
            name, divisor = divided(symbol)
            limit = limits.get(symbol.name, symbol.planned)
            if limit < symbol.planned:
                found[name] = min(found.get(name, limit * divisor), limit * divisor)
    return found


def _fitting(graphs: Sequence[Graph], chosen: Collection[str]) -> dict[str, int]:
    """Sizes to plan for, by name, where those planned for contradict each other."""
    found: dict[str, int] = {}
    for graph in graphs:
        found |= fitting_sizes(planned_for(graph, found), {*chosen, *found})
    return found


def compared_modules(model: Model, lowered: LoweredModel) -> Modules:
    """What verification compares: the model as it came and as it was planned."""
    functions = model.functions
    places = [f.place for f in functions]
    bodies = {
        f.name: tuple(s.ranges for s in p.specializations)
        for f, p in zip(functions, lowered.plans, strict=True)
    }
    subjects = subjects_of(model.module, places, model.options, bodies)
    boundaries = {f.name: model.module.boundary(f.place) for f in functions if f.is_whole}
    layouts = {f.name: p.io for f, p in zip(functions, lowered.plans, strict=True)}
    return Modules(
        model.path,
        model.source,
        lowered.path,
        lowered.flags,
        with_layouts(subjects, boundaries, layouts),
        tuple(f.graph for f in functions),
        model.folder,
        model.archives,
        model.ahead,
    )
