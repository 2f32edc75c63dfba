"""Plans that were made before, held against the model that they are for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from layoutopt.errors import InputError
from layoutopt.explore import explore
from layoutopt.free_io import chosen_io
from layoutopt.graph import Graph
from layoutopt.identity import identity_candidates
from layoutopt.options import Options
from layoutopt.plan_file import fingerprint, read_plan
from layoutopt.planner import GraphPlan
from layoutopt.profiles.target import Target


def given_plans(
    path: Path,
    model: Path,
    functions: Sequence[tuple[str, Graph]],
    target: Target,
    options: Options,
) -> Iterator[GraphPlan]:
    """The plan of each function, from a file. Raises InputError where it is for another model."""
    known = {f.function: f for f in read_plan(path)}
    for name, graph in functions:
        found = known.get(name)
        if found is None or found.graph != fingerprint(graph):
            raise InputError(
                str(path),
                f"a plan for function '{name}' of {model}",
                "a plan for another model",
                "make the plan again",
            )
        space = explore(graph, target)
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
            if options.free_io_layout
            else {},
            options.lower_packs,
            identity=identity_candidates(space.egraph, space.clusters),
        )
