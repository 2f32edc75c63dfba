"""Plans that were made before, checked against model, target and the options they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from layoutopt.candidates.candidate import Candidate, physical_form, tensors_of
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.explore import Space, explore
from layoutopt.candidates.form import Form
from layoutopt.candidates.identity import identity_candidates
from layoutopt.candidates.stable_names import StableNames
from layoutopt.errors import InputError
from layoutopt.ir.carried import Carried, Ends, ends_of
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.planned_sizes import divided, open_sizes
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.schedule import RowTile, VectorTile, WorkgroupTile
from layoutopt.ir.size_range import serve_each_once
from layoutopt.ir.weights import weight_bytes
from layoutopt.options import Options
from layoutopt.planning.control_flow import ControlFlow
from layoutopt.planning.copy_budget import CopyBudget
from layoutopt.planning.free_io import chosen_io, free_tensors
from layoutopt.planning.graph_plan import GraphPlan, Specialization
from layoutopt.planning.joint_selection import Part, joined
from layoutopt.planning.plan_file import FunctionPlan, PlanFile, chosen, fingerprint, read_plan
from layoutopt.planning.rules_in_use import rules_in_use
from layoutopt.planning.selection import build_selection
from layoutopt.profiles.target import Target
from layoutopt.solver import unmet
from layoutopt.solver.solution import answer


@dataclass(frozen=True)
class AskedPlans:
    """What plans are wanted for."""

    model: Path
    functions: Sequence[tuple[str, Graph]]
    flow: ControlFlow | None = None
    """What the functions hand to each other."""
    one_body: Sequence[str] = ()
    """For each function, why one plan has to serve all of its sizes; empty where there may be
    several."""

    def reason(self, place: int) -> str:
        """Why one plan has to serve all sizes of a function."""
        return self.one_body[place] if self.one_body else ""


@dataclass(frozen=True)
class _Found:
    """The plan of one function as the file has it."""

    space: Space
    plan: FunctionPlan
    choice: Choice
    costs: dict[Candidate, int]
    conversion_costs: dict[Conversion, int]


def given_plans(
    path: Path, asked: AskedPlans, target: Target, options: Options
) -> tuple[GraphPlan, ...]:
    """The plan of each function, from a file.

    Raises InputError where it is for another model, or does not fit the target and the options.
    """
    file = read_plan(path)

    def unfit(name: str, misfit: str) -> InputError:
        return InputError(
            str(path),
            f"a plan for '{name}' that fits {target.name} and these options",
            f"{misfit}{_made(file)}",
            "make the plan again for this target, with the same options",
        )

    flow = asked.flow or ControlFlow.none([graph for _, graph in asked.functions])
    found: list[_Found] = []
    several: dict[int, list[_Found]] = {}
    for place, (name, graph) in enumerate(asked.functions):
        rows = [f for f in file.functions if f.function == name]
        if not rows or any(row.graph != fingerprint(graph) for row in rows):
            raise InputError(
                str(path),
                f"a plan for function '{name}' of {asked.model}",
                f"a plan for another model{_made(file)}",
                "make the plan again",
            )
        one_body = asked.reason(place) or flow.one_body(place)
        uneven = _ranges_misfit(rows, graph, options, one_body)
        if uneven:
            raise unfit(name, uneven)
        bodies = []
        for row in rows:
            read = _read(row, graph, target, options)
            if isinstance(read, str):
                raise unfit(row.name, read)
            bodies.append(read)
        found.append(bodies[0])
        if len(bodies) > 1:
            several[place] = bodies
    names = [name for name, _ in asked.functions]
    everything = (*found, *(body for bodies in several.values() for body in bodies))
    tiled = {c.form for f in everything for c in f.choice.candidates if c.form.is_data_tiled}
    if len(tiled) > 1:
        both = " and ".join(sorted(f"'{form.value}'" for form in tiled))
        raise unfit(names[0], f"{both}, of which a module has one")
    layouts = _carried(file, flow, found)
    if isinstance(layouts, str):
        raise unfit(names[0], layouts)
    for together in flow.groups:
        for parts in zip(*(several.get(g, [found[g]]) for g in together), strict=True):
            misfit = _inconsistency(parts, together, layouts, options)
            if misfit is not None:
                raise unfit(names[together[0]], misfit)
    ends = (ends_of(g, layouts, f.space.egraph.graph.handed_only) for g, f in enumerate(found))
    plans = [_plan(f, own, options) for f, own in zip(found, ends, strict=True)]
    for place, own_bodies in several.items():
        plans[place] = _several(own_bodies, options)
    return tuple(plans)


def _ranges_misfit(
    rows: Sequence[FunctionPlan], graph: Graph, options: Options, one_body: str
) -> str:  # fmt: skip
    """Why the plans of one function do not serve its sizes, each once; empty where they do."""
    if len(rows) == 1 and not rows[0].ranges:
        return ""
    known = {divided(symbol)[0] for symbol in open_sizes(graph)}
    missing = {r.name for row in rows for r in row.ranges} - known
    if missing:
        return f"plans for ranges of {min(missing)}, which is no open size"
    if not serve_each_once([row.ranges for row in rows]):
        return "plans for ranges of sizes of which some have none or two"
    if options.free_io_layout:
        return "plans for ranges of sizes, with --free-io-layout"
    return f"plans for ranges of sizes, though {one_body}" if one_body else ""


def _several(bodies: Sequence[_Found], options: Options) -> GraphPlan:
    """The plans of one function for ranges of its sizes."""
    parts = tuple(
        Specialization(f.plan.ranges, _plan(f, Ends(), options), f.plan.share) for f in bodies
    )
    whole = replace(parts[0].plan, specializations=parts)
    solutions = [f.plan.solution for f in bodies]
    own = [(s.objective_ns or 0, s.bound_ns) for s in solutions]
    objective_ns, bound_ns = (
        round(sum(p.share * ns for p, ns in zip(parts, column, strict=True)))
        for column in zip(*own, strict=True)
    )
    seconds = sum(s.seconds for s in solutions)
    worst = max(solutions, key=lambda s: s.gap or 0.0)
    return replace(
        whole,
        solution=answer((), (), objective_ns, bound_ns, seconds, worst.stop_reason),
    )


def _plan(found: _Found, ends: Ends, options: Options) -> GraphPlan:
    space = found.space
    io = options.free_io_layout
    return GraphPlan(
        space.egraph,
        space.clusters,
        found.choice,
        found.costs,
        found.conversion_costs,
        found.plan.solution,
        space.refusals,
        None,
        chosen_io(space.egraph.graph, space.clusters, found.choice) if io else {},
        options.lower_packs,
        identity=identity_candidates(space.egraph, space.clusters),
        ends=ends,
    )


def _carried(
    file: PlanFile, flow: ControlFlow, found: Sequence[_Found]
) -> dict[Carried, Layout] | str:  # fmt: skip
    """The layout of each carried tensor, or which of them the model does not have."""
    named = {row.name: row.layout for row in file.carried}
    missing = named.keys() - {c.name for c in flow.carried}
    if missing:
        return f"a layout of '{min(missing)}', which no control flow hands on"
    layouts: dict[Carried, Layout] = {}
    for carried in flow.carried:
        place, tensor = carried.made[0]
        plain = row_major(len(found[place].space.egraph.graph.types[tensor].shape))
        layouts[carried] = named.get(carried.name, plain)
        if layouts[carried].rank != plain.rank:
            return f"{layouts[carried]} for '{carried.name}' of {plain.rank} dims"
    return layouts


def _made(file: PlanFile) -> str:
    return f" (made by layoutopt {file.tool} for {file.target})"


def _read(plan: FunctionPlan, graph: Graph, target: Target, options: Options) -> _Found | str:
    """A plan in numbers, or what of it cannot be written here."""
    space = explore(graph, target, admitted=options.admitted, rules=rules_in_use(options))
    resolved = chosen(plan, StableNames(space.egraph.graph, space.clusters))
    if isinstance(resolved, str):
        return resolved
    choice, costs, conversion_costs = resolved
    for candidate in choice.candidates:
        reason = _refusal(space, candidate, target)
        if reason is not None:
            return reason
    for c in choice.conversions:
        rank = len(space.egraph.graph.types[c.tensor].shape)
        if c.source == c.target or not c.source.rank == c.target.rank == rank:
            return f"no conversion of {c}"
    return _Found(space, plan, choice, costs, conversion_costs)


_TILES = {
    Form.WORKGROUPS: WorkgroupTile,
    Form.WINDOWS: WorkgroupTile,
    Form.ROWS: RowTile,
}
"""Those of GPUs, by the form that they go with."""


def _refusal(space: Space, candidate: Candidate, target: Target) -> str | None:
    """Why a candidate cannot be written here."""
    graph, clusters = space.egraph.graph, space.clusters
    cluster = clusters[candidate.cluster]
    op = graph.name_of(cluster.root)
    ranks = {t: x.rank for t, x in candidate.layouts}
    if ranks != {t: len(graph.types[t].shape) for t in tensors_of(graph, cluster)}:
        return f"other tensors around {op}"
    if candidate.form.is_data_tiled and not target.data_tiling_flags:
        return f"data tiling of {op}, which {target.name} has no flag for"
    of_bytes = candidate.form in (Form.DATA_TILED_UNSIGNED, Form.BYTE_PANELS)
    if of_bytes and not target.byte_products:
        return f"products of unsigned bytes in {op}, which {target.name} has none of"
    if candidate.form.is_scheduled != (candidate.tile is not None):
        return f"a tile of {op}, where '{candidate.form.value}' goes with " + (
            "one" if candidate.form.is_scheduled else "none"
        )
    kind = _TILES.get(candidate.form, VectorTile)
    if candidate.tile is not None and not isinstance(candidate.tile, kind):
        return f"a tile of {op} that '{candidate.form.value}' does not go with"
    on_a_gpu = kind is not VectorTile
    takes = target.machine.subgroup > 0 if on_a_gpu else target.registers is not None
    if candidate.form.is_scheduled and not takes:
        return f"a schedule of {op}, which {target.name} takes none of"
    form = physical_form(graph, cluster, candidate)
    return form.reason if isinstance(form, Refusal) else None


def _inconsistency(
    found: Sequence[_Found],
    places: Sequence[int],
    layouts: Mapping[Carried, Layout],
    options: Options,
) -> str | None:
    """What plans read that they do not make, or make twice."""
    number = {graph: place for place, graph in enumerate(places)}
    own = {c.among(number): (x,) for c, x in layouts.items() if number.keys() >= {*c.graphs}}
    joint = joined([_part(f, options) for f in found], own)
    chosen_conversions = tuple(
        i
        for i, pairs in enumerate(joint.conversions)
        if any(c < len(found[place].choice.conversions) for place, c in pairs)
    )
    candidates = tuple(range(len(joint.problem.candidates)))
    wrong = unmet(joint.problem, candidates, chosen_conversions)
    return wrong[0] if wrong else None


def _part(found: _Found, options: Options) -> Part:
    """The candidates and conversions of a plan, and no others."""
    graph, choice = found.space.egraph.graph, found.choice
    free = free_tensors(graph) if options.free_io_layout else ()
    copies = any(c.tensor in graph.constants for c in choice.conversions)
    selection = build_selection(
        graph,
        found.space.clusters,
        dict.fromkeys(choice.candidates, 0),
        dict.fromkeys(choice.conversions, 0),
        free,
        CopyBudget(weight_bytes([graph])) if copies else None,
    )
    return Part(graph, selection, 1)
