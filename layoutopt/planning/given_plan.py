"""Plans that were made before, checked against model, target and the options they are for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from layoutopt.candidates.candidate import Candidate, physical_form, tensors_of
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.explore import Space, explore
from layoutopt.candidates.form import Form
from layoutopt.candidates.identity import identity_candidates
from layoutopt.candidates.stable_names import StableNames
from layoutopt.errors import InputError
from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.weights import weight_bytes
from layoutopt.options import Options
from layoutopt.planning.copy_budget import CopyBudget
from layoutopt.planning.free_io import chosen_io, free_tensors
from layoutopt.planning.plan_file import PlanFile, chosen, fingerprint, read_plan
from layoutopt.planning.planner import GraphPlan
from layoutopt.planning.selection import build_selection
from layoutopt.profiles.target import Target
from layoutopt.solver import unmet


def given_plans(
    path: Path,
    model: Path,
    functions: Sequence[tuple[str, Graph]],
    target: Target,
    options: Options,
) -> Iterator[GraphPlan]:
    """The plan of each function, from a file.

    Raises InputError where it is for another model, or does not fit the target and the options.
    """
    file = read_plan(path)
    known = {f.function: f for f in file.functions}
    for name, graph in functions:
        found = known.get(name)
        if found is None or found.graph != fingerprint(graph):
            raise InputError(
                str(path),
                f"a plan for function '{name}' of {model}",
                f"a plan for another model{_made(file)}",
                "make the plan again",
            )
        space = explore(graph, target, admitted=options.admitted, rules=options.rules)
        resolved = chosen(found, StableNames(space.egraph.graph, space.clusters))
        misfit: str | None
        if isinstance(resolved, str):
            misfit = resolved
        else:
            choice, costs, conversion_costs = resolved
            misfit = _misfit(space, choice, target, options)
        if misfit is not None:
            raise InputError(
                str(path),
                f"a plan for '{name}' that fits {target.name} and these options",
                f"{misfit}{_made(file)}",
                "make the plan again for this target, with the same options",
            )
        io = options.free_io_layout
        yield GraphPlan(
            space.egraph,
            space.clusters,
            choice,
            costs,
            conversion_costs,
            found.solution,
            space.refusals,
            None,
            chosen_io(space.egraph.graph, space.clusters, choice) if io else {},
            options.lower_packs,
            identity=identity_candidates(space.egraph, space.clusters),
        )


def _made(file: PlanFile) -> str:
    return f" (made by layoutopt {file.tool} for {file.target})"


def _misfit(space: Space, choice: Choice, target: Target, options: Options) -> str | None:
    """What of a plan cannot be written here, or does not go together; None where it all does."""
    graph = space.egraph.graph
    for candidate in choice.candidates:
        reason = _refusal(space, candidate, target)
        if reason is not None:
            return reason
    for c in choice.conversions:
        rank = len(graph.types[c.tensor].shape)
        if c.source == c.target or not c.source.rank == c.target.rank == rank:
            return f"no conversion of {c}"
    return _inconsistency(space, choice, options)


def _refusal(space: Space, candidate: Candidate, target: Target) -> str | None:
    """Why a candidate cannot be written here."""
    graph, clusters = space.egraph.graph, space.clusters
    cluster = clusters[candidate.cluster]
    op = graph.name_of(cluster.root)
    ranks = {t: x.rank for t, x in candidate.layouts}
    if ranks != {t: len(graph.types[t].shape) for t in tensors_of(graph, cluster)}:
        return f"other tensors around {op}"
    if candidate.form is Form.DATA_TILED and not target.data_tiling_flag:
        return f"data tiling of {op}, which {target.name} has no flag for"
    form = physical_form(graph, cluster, candidate)
    return form.reason if isinstance(form, Refusal) else None


def _inconsistency(space: Space, choice: Choice, options: Options) -> str | None:
    """What a plan reads that it does not make, or makes twice."""
    graph = space.egraph.graph
    free = free_tensors(graph) if options.free_io_layout else ()
    copies = any(c.tensor in graph.constants for c in choice.conversions)
    selection = build_selection(
        graph,
        space.clusters,
        dict.fromkeys(choice.candidates, 0),
        dict.fromkeys(choice.conversions, 0),
        free,
        CopyBudget(weight_bytes([graph])) if copies else None,
    )
    wrong = unmet(
        selection.problem,
        tuple(range(len(selection.candidates))),
        tuple(range(len(dict.fromkeys(choice.conversions)))),
    )
    return wrong[0] if wrong else None
