"""From priced candidates to the integer problem and back."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from layoutopt.candidate import Candidate
from layoutopt.cluster import Cluster
from layoutopt.graph import Graph
from layoutopt.layout import Layout, row_major, same_memory
from layoutopt.solver import problem as integer

Conversion = tuple[int, Layout, Layout]
"""(tensor, source, target)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a solution stands for: candidates, and conversions of (tensor, source, target)."""

    candidates: tuple[Candidate, ...]
    conversions: tuple[Conversion, ...]
    lowered: frozenset[Conversion] = frozenset()
    """Conversions that are written as reshapes and transposes in place of packs."""


@dataclass(frozen=True)
class Selection:
    """The integer problem with what its numbers mean."""

    problem: integer.Problem
    candidates: tuple[Candidate, ...]
    conversions: tuple[Conversion, ...]

    def choice(self, candidates: Sequence[int], conversions: Sequence[int]) -> Choice:
        """The candidates and conversions behind the solver's indices."""
        return Choice(
            tuple(self.candidates[i] for i in candidates),
            tuple(self.conversions[i] for i in conversions),
        )


def needed_conversions(
    graph: Graph,
    clusters: Sequence[Cluster],
    candidates: Sequence[Candidate],
    free: Container[int] = (),
) -> tuple[Conversion, ...]:
    """Every conversion that some consumer could ask of some producer, each once, in order."""
    made, wanted = _pairs(graph, clusters, candidates, free)
    found: dict[Conversion, None] = {}
    for tensor in range(len(graph.types)):
        for source in made.get(tensor, {}):
            for goal in wanted.get(tensor, {}):
                if source != goal:
                    found[tensor, source, goal] = None
    return tuple(found)


def is_free(graph: Graph, conversion: Conversion) -> bool:
    """Whether a conversion moves nothing."""
    tensor, source, goal = conversion
    return same_memory(graph.types[tensor].shape, source, goal)


def build_selection(
    graph: Graph,
    clusters: Sequence[Cluster],
    costs: Mapping[Candidate, int],
    conversion_costs: Mapping[Conversion, int],
    free: Container[int] = (),
    weight_budget_bytes: int | None = None,
) -> Selection:
    """The integer problem over all priced candidates and conversions. Costs in nanoseconds.

    ``free``: inputs that come, and outputs that go, in any layout.
    """
    number: dict[int, dict[Layout, int]] = {}

    def pair(tensor: int, layout: Layout) -> tuple[int, int]:
        known = number.setdefault(tensor, {row_major(len(graph.types[tensor].shape)): 0})
        return tensor, known.setdefault(layout, len(known))

    candidates = tuple(costs)
    rows = []
    copies: dict[Conversion, None] = {}
    for candidate in candidates:
        cluster = clusters[candidate.cluster]
        inputs = [pair(t, candidate.layout_of(t)) for t in cluster.inputs]
        for weight in cluster.weights if weight_budget_bytes is not None else ():
            layout = candidate.layout_of(weight)
            plain = row_major(layout.rank)
            inputs.append(pair(weight, layout))
            if layout != plain:
                copies[weight, plain, layout] = None
        rows.append(
            integer.Candidate(
                candidate.cluster,
                costs[candidate],
                tuple(inputs),
                tuple(pair(t, candidate.layout_of(t)) for t in cluster.outputs),
            )
        )
    conversions = (*conversion_costs, *(c for c in copies if c not in conversion_costs))
    changes = tuple(
        integer.Conversion(
            t,
            pair(t, source)[1],
            pair(t, goal)[1],
            conversion_costs.get((t, source, goal), 0),
            goal.size_bytes(graph.types[t])
            if (t, source, goal) in copies and not is_free(graph, (t, source, goal))
            else 0,
        )
        for t, source, goal in conversions
    )
    demands = []
    for tensor in graph.outputs:
        if tensor in graph.inputs or tensor in graph.constants:
            continue
        layouts = sorted(_unpadded(graph, tensor, number)) if tensor in free else [0]
        demands.append(integer.Demand(tensor, tuple(layouts or [0])))
    given = {pair(t, row_major(len(graph.types[t].shape))) for t in graph.inputs}
    given |= {(t, n) for t in graph.inputs if t in free for n in _unpadded(graph, t, number)}
    if weight_budget_bytes is not None:
        given |= {(t, 0) for c in clusters for t in c.weights}
    return Selection(
        integer.Problem(
            len(graph.types),
            frozenset(given),
            tuple(demands),
            tuple(rows),
            changes,
            weight_budget_bytes,
        ),
        candidates,
        conversions,
    )


def _unpadded(graph: Graph, tensor: int, number: Mapping[int, Mapping[Layout, int]]) -> list[int]:
    """The layouts in which the memory of a tensor of the caller's own type can lie."""
    shape = graph.types[tensor].shape
    return [n for layout, n in number.get(tensor, {}).items() if not layout.pads(shape)]


def _pairs(
    graph: Graph,
    clusters: Sequence[Cluster],
    candidates: Sequence[Candidate],
    free: Container[int] = (),
) -> tuple[dict[int, dict[Layout, None]], dict[int, dict[Layout, None]]]:
    """For each tensor, the layouts somebody makes and the layouts somebody wants."""
    made: dict[int, dict[Layout, None]] = {}
    wanted: dict[int, dict[Layout, None]] = {}
    for tensor in graph.inputs:
        made[tensor] = {row_major(len(graph.types[tensor].shape)): None}
    for tensor in graph.outputs:
        if tensor not in free:
            wanted[tensor] = {row_major(len(graph.types[tensor].shape)): None}
    for candidate in candidates:
        layouts = dict(candidate.layouts)
        cluster = clusters[candidate.cluster]
        for tensor in cluster.inputs:
            wanted.setdefault(tensor, {})[layouts[tensor]] = None
        for tensor in cluster.outputs:
            made.setdefault(tensor, {})[layouts[tensor]] = None
    for tensor in graph.outputs:  # what the caller takes in any layout has no padding all the same
        shape = graph.types[tensor].shape
        if any(layout.pads(shape) for layout in made.get(tensor, {})):
            wanted.setdefault(tensor, {})[row_major(len(shape))] = None
    return made, wanted
