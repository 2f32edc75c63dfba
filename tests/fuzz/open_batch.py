"""Functions of open sizes and random plans of them, compiled in one module, run at several sizes.

What the original and its plans give is compared with the oracle at each of the sizes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from layoutopt.errors import LoweringError
from layoutopt.ir.types import Array
from layoutopt.mlir.module import Module, has_work, parse_module
from layoutopt.planning.planner import plan_graph
from layoutopt.profiles.target import Target
from layoutopt.runtime.element import load_array, save_array
from layoutopt.runtime.job import ArrayFile, Job, Task
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.supervisor import Supervisor
from layoutopt.runtime.workspace import workspace
from tests.fuzz.checked import bug_of
from tests.fuzz.comparison import Bug, apart
from tests.fuzz.open_graph import OpenGraph
from tests.fuzz.program import Written
from tests.fuzz.through_iree import (
    RUN_LIMIT_S,
    WIDE,
    Tally,
    general,
    random_options,
    random_prices,
)
from tests.fuzz.units import Refused, Unit, compile_units, cut_into_units
from tests.planning import lowered_with_row_major_ends, setting

Found = tuple[list[tuple[Written, Bug]], Tally]
WHERE = "through IREE, open sizes"


@dataclass(frozen=True)
class Case:
    """A function, or a plan of it, at one of its sizes."""

    way: str
    case: int


@dataclass(frozen=True)
class _Way:
    name: str
    graph: OpenGraph
    is_plan: bool


def hold_open_batch(
    batch: Sequence[OpenGraph], plans: int, target: Target, seed: str, compiled: bool = True
) -> Found:
    """Compile and run a batch; the bugs that show, each with the static function behind it.

    ``compiled``: else planning and writing is all that is done.
    """
    tally = Tally()
    bugs: list[tuple[Written, Bug]] = []
    ways = [_Way(g.name, g, False) for g in batch]
    ways += [_Way(f"{g.name}_p{number}", g, True) for number in range(plans) for g in batch]
    with workspace() as folder:
        source = folder / "batch.mlir"
        source.write_text("".join(way.graph.text(way.name) for way in ways))
        module = parse_module(source)
        left: list[_Way] = []
        data_tiled = False
        for way in ways:
            try:
                data_tiled |= way.is_plan and _planned(module, way, target, seed)
                left.append(way)
            except Exception as error:
                bugs.append((way.graph.written, bug_of(error)))
        if not compiled:
            return bugs, tally
        flags = (*target.flags, *WIDE, *(target.data_tiling_flags if data_tiled else ()))
        planned = folder / "planned.mlir"
        try:
            module.write(planned, flags)
        except LoweringError as error:
            return [*bugs, (batch[0].written, Bug("invalid", "module", str(error)))], tally
        head, units = cut_into_units(planned.read_text(), [way.name for way in ways])
        wanted = {way.name for way in left}
        units = tuple(u for u in units if u.name in wanted)
        results, refused = _results(head, units, flags, left, folder, seed)
        bugs += _compared(left, results, refused, tally, seed)
    return bugs, tally


def _planned(module: Module, way: _Way, target: Target, seed: str) -> bool:
    """Plan one function in place; whether it asks for data tiling."""
    place = module.names.index(way.name)
    graph = module.graphs[place]
    if not has_work(graph):
        return False
    seed = f"{seed} {way.name}"
    options = random_options(random.Random(seed))
    plan = plan_graph(graph, setting(target, random_prices(seed), options))
    module.replace_all({place: lowered_with_row_major_ends(plan)})
    return plan.data_tiled


def _results(
    head: str,
    units: Sequence[Unit],
    flags: tuple[str, ...],
    ways: Sequence[_Way],
    folder: Path,
    seed: str,
) -> tuple[dict[Case, list[Array]], dict[str, str]]:
    """What each function gives at each of its sizes, and why some give nothing."""
    found = list(compile_units(head, units, flags, folder))
    refused = {r.unit.name: r.reason for r in found if isinstance(r, Refused)}
    modules = {u.name: c.module for c in found if not isinstance(c, Refused) for u in c.units}
    cases: list[Case] = []
    tasks: list[Task] = []
    saved: dict[Case, tuple[ArrayFile, ...]] = {}
    for way in (w for w in ways if w.name in modules):
        for case in range(len(way.graph.cases)):
            stem = Case(way.graph.name, case)
            if stem not in saved:
                saved[stem] = _saved(way.graph, case, folder, seed)
            file, place = str(modules[way.name]), len(tasks)
            tasks.append(Task(place, file, way.name, saved[stem], outputs=str(folder)))
            cases.append(Case(way.name, case))
    if not tasks:
        return {}, refused
    job = Job(tuple(tasks), Protocol(), timed=False)
    results: dict[Case, list[Array]] = {}
    with Supervisor("local-sync", 1, RUN_LIMIT_S) as supervisor:
        for v in supervisor.run(job):
            if v.measurement.ok:
                arrays = [load_array(Path(f.path), f.element) for f in v.outputs]
                results[cases[v.place]] = arrays
            else:
                refused.setdefault(cases[v.place].way, v.measurement.reason)
    return results, refused


def _saved(graph: OpenGraph, case: int, folder: Path, seed: str) -> tuple[ArrayFile, ...]:
    files = []
    for number, array in enumerate(graph.arguments(graph.cases[case], seed)):
        path = folder / f"{graph.name}_c{case}_a{number}.npy"
        files.append(ArrayFile(str(path), save_array(path, array)))
    return tuple(files)


def _compared(
    ways: Sequence[_Way],
    results: dict[Case, list[Array]],
    refused: dict[str, str],
    tally: Tally,
    seed: str,
) -> Iterator[tuple[Written, Bug]]:
    for way in ways:
        original = way.graph.name
        if not way.is_plan:
            tally.originals += 1
        else:
            tally.plans += 1
        if way.name in refused:
            if not way.is_plan:
                tally.refused_originals.setdefault(general(refused[original]), []).append(original)
            elif original not in refused:
                reason = general(refused[way.name])
                tally.refused_plans.setdefault(reason, []).append(way.name)
        elif way.is_plan and original not in refused:
            yield from _apart(way, results, tally, seed)


def _apart(
    way: _Way, results: dict[Case, list[Array]], tally: Tally, seed: str
) -> Iterator[tuple[Written, Bug]]:
    """Where a plan is apart from the oracle, and not in the way in which the original is.

    Where the original is apart from it, IREE miscompiles it.
    """
    graph = way.graph
    for case, numbers in enumerate(graph.cases):
        right = graph.results(numbers, graph.arguments(numbers, seed))
        if right is None:
            continue
        relative = graph.relative_tolerance(numbers)
        got, original = results[Case(way.name, case)], results[Case(graph.name, case)]
        own = difference(original, right, relative)
        found = difference(got, right, relative)
        if own and (not found or not difference(got, original, relative)):
            tally.miscompiled.append(graph.name)
            return
        if found:
            too = " (the original is wrong too, in another way)" if own else ""
            shown = ", ".join(f"{name} = {n}" for name, n in numbers.items())
            yield graph.written, Bug("wrong", WHERE, f"at {shown}: {found}{too}")
            return


def difference(got: Sequence[Array], wanted: Sequence[Array], relative: float) -> str:
    """How results differ by more than a part of the largest number; empty where they do not."""
    for number, (one, other) in enumerate(zip(got, wanted, strict=True)):
        floating = other.dtype.kind not in "biu"
        scale = float(np.max(np.abs(other.astype(np.float64)))) if other.size else 0.0
        difference = apart(one, other, relative * max(scale, 1.0) if floating else 0.0)
        if difference:
            return f"result {number}: {difference}"
    return ""
