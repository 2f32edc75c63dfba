"""Functions and random plans of them, compiled in one module, run, and compared."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from layoutopt.errors import LoweringError
from layoutopt.ir.types import Array
from layoutopt.mlir.module import Module, has_work, parse_module
from layoutopt.options import Objective, Options
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import Target
from layoutopt.runtime.element import load_array, save_array
from layoutopt.runtime.job import ArrayFile, Job, Task
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.supervisor import Supervisor, Verdict
from layoutopt.runtime.workspace import workspace
from layoutopt.solver import Search
from tests.fuzz.checked import bug_of
from tests.fuzz.comparison import Bug, apart, tolerance
from tests.fuzz.kinds import KINDS
from tests.fuzz.oracle_results import oracle_results
from tests.fuzz.program import Written, write
from tests.fuzz.units import Compiled, Refused, compile_units, cut_into_units
from tests.made_up_prices import MadeUpPrices
from tests.planning import lowered_with_row_major_ends, setting
from tests.property.rules.short_splits import HALVING

SEARCHES: tuple[Search, ...] = (Search.ILP, Search.GREEDY, Search.GREEDY, Search.TASO)
OBJECTIVES: tuple[Objective, ...] = (Objective.LATENCY,) * 6 + (Objective.CONVERSIONS,)
RUN_LIMIT_S = 20.0
WIDE = ("--iree-input-demote-f64-to-f32=false",)
"""f64 stays f64, or arguments would be of other types than those written."""


@dataclass
class Tally:
    """What became of the functions of a run through IREE."""

    originals: int = 0
    plans: int = 0
    refused_originals: dict[str, list[str]] = field(default_factory=dict)
    """Their names by reason."""
    refused_plans: dict[str, list[str]] = field(default_factory=dict)
    """Names by reason: IREE takes the original, not the plan."""

    miscompiled: list[str] = field(default_factory=list)
    """Originals of which IREE computes something else than the oracle, unlike of their plans."""

    def add(self, other: Tally) -> None:
        """Add another batch."""
        self.originals += other.originals
        self.plans += other.plans
        for mine, others in (
            (self.refused_originals, other.refused_originals),
            (self.refused_plans, other.refused_plans),
        ):
            for reason, names in others.items():
                mine.setdefault(reason, []).extend(names)
        self.miscompiled += other.miscompiled


def random_prices(seed: str) -> MadeUpPrices:
    """Prices that a seed makes up; the same work has the same price."""

    def cost_ns(work: Work) -> int:
        rng = random.Random(f"{seed} {work.benchmark.flags} {work.benchmark.text}")
        return round(10 ** rng.uniform(3, 6))

    return MadeUpPrices(cost_ns)


@dataclass(frozen=True)
class Way:
    """A function of the module: an original, or a plan of one."""

    name: str
    written: Written
    plan: int | None
    """Number of the plan; None for the original."""


def random_options(rng: random.Random) -> Options:
    """Options of a plan that say how it is written, not how it is measured."""
    return replace(
        Options(rules=HALVING),
        search=rng.choice(SEARCHES),
        objective=rng.choice(OBJECTIVES),
        lower_packs=rng.random() < 0.25,
        free_io_layout=rng.random() < 0.25,
        time_limit_s=5.0,
    )


def hold_batch(
    batch: Sequence[Written], plans: int, target: Target, seed: str, compiled: bool = True
) -> tuple[list[tuple[Written, Bug]], Tally]:
    """Compile and run a batch; the bugs that show, each with its function.

    ``compiled``: else planning and writing is all that is done.
    """
    tally = Tally()
    bugs: list[tuple[Written, Bug]] = []
    with workspace() as folder:
        ways = [Way(w.name, w, None) for w in batch]
        for number in range(plans):
            names = (f"{w.name}_p{number}" for w in batch)
            ways += [
                Way(name, write(w.program, name, KINDS), number)
                for name, w in zip(names, batch, strict=True)
            ]
        source = folder / "batch.mlir"
        source.write_text("".join(way.written.text for way in ways))
        module = parse_module(source)
        left: list[Way] = []
        data_tiled = False
        for way in ways:
            try:
                data_tiled |= _planned(module, way, target, f"{seed} {way.name}")
                left.append(way)
            except Exception as error:
                bugs.append((_original(way, batch), bug_of(error)))
        if not compiled:
            return bugs, tally
        flags = (*target.flags, *WIDE, *(target.data_tiling_flags if data_tiled else ()))
        planned = folder / "planned.mlir"
        try:
            module.write(planned, flags)
        except LoweringError as error:
            return [*bugs, (batch[0], Bug("invalid", "module", str(error)))], tally
        head, units = cut_into_units(planned.read_text(), [way.name for way in ways])
        wanted = {way.name for way in left}
        units = tuple(u for u in units if u.name in wanted)
        found = list(compile_units(head, units, flags, folder))
        bugs += _run(found, left, batch, folder, tally, seed)
    return bugs, tally


def _original(way: Way, batch: Sequence[Written]) -> Written:
    stem = way.name.partition("_p")[0]
    return next(w for w in batch if w.name == stem)


def _planned(module: Module, way: Way, target: Target, seed: str) -> bool:
    """Plan one function in place, if it is a plan; whether it asks for data tiling."""
    if way.plan is None:
        return False
    place = module.names.index(way.name)
    graph = module.graphs[place]
    if not has_work(graph):
        return False
    options = random_options(random.Random(seed))
    plan = plan_graph(graph, setting(target, random_prices(seed), options))
    module.replace(place, lowered_with_row_major_ends(plan))
    return plan.data_tiled


def _run(
    found: Sequence[Compiled | Refused],
    ways: Sequence[Way],
    batch: Sequence[Written],
    folder: Path,
    tally: Tally,
    seed: str,
) -> Iterator[tuple[Written, Bug]]:
    modules = {u.name: c.module for c in found if isinstance(c, Compiled) for u in c.units}
    refused = {r.unit.name: r for r in found if isinstance(r, Refused)}
    results, failed = _results([w for w in ways if w.name in modules], modules, folder, seed)
    for way in ways:
        original = _original(way, batch)
        works = original.name in results
        if way.plan is None:
            tally.originals += 1
            if not works:
                reason = refused[way.name].reason if way.name in refused else failed[way.name]
                tally.refused_originals.setdefault(general(reason), []).append(way.name)
            continue
        tally.plans += 1
        if way.name in results and works:
            bug = _compared(way, original, results)
            if bug is not None and _original_is_wrong(way, original, results, folder):
                tally.miscompiled.append(original.name)
            elif bug is not None:
                yield original, bug
        elif works:
            reason = refused[way.name].reason if way.name in refused else failed[way.name]
            tally.refused_plans.setdefault(general(reason), []).append(way.name)


def _compared(way: Way, original: Written, results: dict[str, list[Array]]) -> Bug | None:
    pairs = zip(results[way.name], results[original.name], original.results, strict=True)
    for number, (got, wanted, value) in enumerate(pairs):
        difference = apart(got, wanted, tolerance(value))
        if difference:
            return Bug("wrong", "through IREE", f"result {number}: {difference}")
    return None


def _original_is_wrong(
    way: Way, original: Written, results: dict[str, list[Array]], folder: Path
) -> bool:
    """Whether, wherever both differ, the oracle says that the plan is right."""
    files = (folder / f"{original.name}_a{n}.npy" for n in range(len(original.arguments)))
    elements = (a.value.element for a in original.arguments)
    given = [load_array(f, e) for f, e in zip(files, elements, strict=True)]
    right = oracle_results(original, given)
    if right is None:
        return False
    each = zip(results[way.name], results[original.name], right, original.results, strict=True)
    return not any(
        apart(got, wanted, tolerance(value))
        and (known is None or apart(got, known, tolerance(value)))
        for got, wanted, known, value in each
    )


def _results(
    ways: Sequence[Way], modules: dict[str, Path], folder: Path, seed: str
) -> tuple[dict[str, list[Array]], dict[str, str]]:
    """What each function gives on the inputs of its original, and why some give nothing."""
    saved: dict[str, tuple[ArrayFile, ...]] = {}
    tasks = []
    for place, way in enumerate(ways):
        stem = way.name.partition("_p")[0]
        if stem not in saved:
            saved[stem] = _saved(way.written, folder, f"{seed} {stem}")
        tasks.append(
            Task(place, str(modules[way.name]), way.name, saved[stem], outputs=str(folder))
        )
    if not tasks:
        return {}, {}
    job = Job(tuple(tasks), Protocol(), timed=False)
    with Supervisor("local-sync", 1, RUN_LIMIT_S) as supervisor:
        verdicts: list[Verdict] = list(supervisor.run(job))
    results = {
        ways[v.place].name: [load_array(Path(f.path), f.element) for f in v.outputs]
        for v in verdicts
        if v.measurement.ok
    }
    failed = {ways[v.place].name: v.measurement.reason for v in verdicts if not v.measurement.ok}
    return results, failed


def _saved(written: Written, folder: Path, seed: str) -> tuple[ArrayFile, ...]:
    rng = np.random.default_rng(list(seed.encode()))
    files = []
    for number, argument in enumerate(written.arguments):
        path = folder / f"{written.name}_a{number}.npy"
        files.append(ArrayFile(str(path), save_array(path, argument.array(rng))))
    return tuple(files)


def general(reason: str) -> str:
    """The reason without numbers, so that one cause has one line."""
    return "".join("N" if c.isdigit() else c for c in reason)[:120]
