"""From priced candidates to the integer problem and back."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major
from layoutopt.planning.copy_budget import CopyBudget
from layoutopt.solver import Search, Solution, TimeLimit
from layoutopt.solver import problem as integer


@dataclass(frozen=True)
class Selection:
    """The integer problem with what its numbers mean."""

    problem: integer.Problem
    candidates: tuple[Candidate, ...]
    conversions: tuple[Conversion, ...]
    number: Mapping[int, Mapping[Layout, int]]
    """By tensor, the layouts that have numbers; row-major is 0 everywhere."""

    def choice(self, candidates: Sequence[int], conversions: Sequence[int]) -> Choice:
        """The candidates and conversions behind the solver's indices.

        Conversions are by tensor and layout: in which order they have prices is up to what asks.
        """
        converted = (self.conversions[i] for i in conversions)
        return Choice(
            tuple(self.candidates[i] for i in candidates),
            tuple(sorted(converted, key=lambda c: (c.tensor, str(c.source), str(c.target)))),
        )

    def indices(self, choice: Choice) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The solver's indices of a choice; None where some of it cannot be chosen."""
        candidates = {candidate: i for i, candidate in enumerate(self.candidates)}
        conversions = {conversion: i for i, conversion in enumerate(self.conversions)}
        if not (
            candidates.keys() >= {*choice.candidates}
            and conversions.keys() >= {*choice.conversions}
        ):
            return None
        return (
            tuple(sorted(candidates[c] for c in choice.candidates)),
            tuple(sorted(conversions[c] for c in choice.conversions)),
        )

    def solved(self, limit: TimeLimit, search: Search, known: Iterable[Choice]) -> Solution:
        """The answer in the time that is left; where it is over, one of the ``known`` choices."""
        answers = (self.indices(choice) for choice in known)
        return limit.solve(self.problem, search, (a for a in answers if a is not None))


def build_selection(
    graph: Graph,
    clusters: Sequence[Cluster],
    costs: Mapping[Candidate, int],
    conversion_costs: Mapping[Conversion, int],
    free: Container[int] = (),
    budget: CopyBudget | None = None,
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
        for weight in cluster.weights if budget is not None else ():
            layout = candidate.layout_of(weight)
            plain = row_major(layout.rank)
            inputs.append(pair(weight, layout))
            if layout != plain:
                copies[Conversion(weight, plain, layout)] = None
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
            c.tensor,
            pair(c.tensor, c.source)[1],
            pair(c.tensor, c.target)[1],
            conversion_costs.get(c, 0),
            budget.taken_by(graph, c) if budget is not None and c in copies else 0,
        )
        for c in conversions
    )
    demands = []
    for tensor in graph.outputs:
        if tensor in graph.inputs or tensor in graph.constants:
            continue
        layouts = sorted(_unpadded(graph, tensor, number)) if tensor in free else [0]
        demands.append(integer.Demand(tensor, tuple(layouts or [0])))
    given = {pair(t, row_major(len(graph.types[t].shape))) for t in graph.inputs}
    given |= {(t, n) for t in graph.inputs if t in free for n in _unpadded(graph, t, number)}
    if budget is not None:
        given |= {(t, 0) for c in clusters for t in c.weights}
    return Selection(
        integer.Problem(
            len(graph.types),
            frozenset(given),
            tuple(demands),
            tuple(rows),
            changes,
            None if budget is None else budget.size_bytes,
        ),
        candidates,
        conversions,
        number,
    )


def _unpadded(graph: Graph, tensor: int, number: Mapping[int, Mapping[Layout, int]]) -> list[int]:
    """The layouts in which the memory of a tensor of the caller's own type can lie."""
    shape = graph.types[tensor].shape
    return [n for layout, n in number.get(tensor, {}).items() if not layout.pads(shape)]
