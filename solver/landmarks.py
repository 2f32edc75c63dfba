"""Rows that every answer keeps, and that the relaxation with fractions breaks: landmarks.

Take a set T of tensors none of which is given. In any answer that makes one of them, the first one
is made by a candidate that reads nothing of T. So, for every tensor t of T,

    sum of y over the makers of t <= sum of y over the makers of T that read nothing of T

(a disjunctive action landmark of t; Helmert and Domshlak, "Landmarks, critical paths and
abstractions", ICAPS 2009; the row is a loop formula for a T without a circle in it). Fractions
break it where two ways to t meet again further up: from a half of a contraction, one half of t is
made in one way, and the other half in another. The T that is broken most follows from a minimum
cut: of all that flows from the given tensors to t, through candidates that carry what the
relaxation has of them, each reached through one of the tensors that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from ortools.graph.python import max_flow

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.flow import Flow
from layoutopt.solver.program import Term

_UNIT = 1_000_000  # flows are whole
_SLACK = 1_000  # of a unit: what counts as broken
_FAR = 16  # tensors up a line that tell two ways apart


def landmarks(tables: Derivability, flow: Flow, values: Sequence[float]) -> list[list[Term]]:
    """Return rows `terms <= 0` that these values break; none if none was found."""
    used = [round(values[variable] * _UNIT) for variable in flow.candidates]
    rows: dict[frozenset[int], list[Term]] = {}
    search = _Search(tables, used)
    for inside in search.broken():
        makers = tables.tensor_makers[inside.target]
        starts = _starts(tables, inside.tensors)
        if sum(used[i] for i in starts) + _SLACK < sum(used[i] for i in makers):
            terms: list[Term] = [(flow.candidates[i], 1) for i in makers]
            terms += [(flow.candidates[i], -1) for i in sorted(starts)]
            rows[starts] = terms
    return list(rows.values())


def _starts(tables: Derivability, inside: frozenset[int]) -> frozenset[int]:
    """Candidates that make a tensor inside, and read none."""
    makers = {i for tensor in inside for i in tables.tensor_makers[tensor]}
    reads = ((i, (t for t, _ in tables.problem.candidates[i].inputs)) for i in makers)
    return frozenset(i for i, tensors in reads if inside.isdisjoint(tensors))


@dataclass(frozen=True, slots=True)
class _Inside:
    """A set T, for the sake of one of its tensors."""

    target: int
    tensors: frozenset[int]


class _Search:
    """Minimum cuts of what flows to each tensor, those first that others are made from.

    A candidate is reached through the tensor to which least flows of those that it reads; where
    that is the same, through the one that is made of such tensors.
    """

    def __init__(self, tables: Derivability, used: Sequence[int]) -> None:
        self.tables = tables
        self.used = used
        self.given = {tensor for tensor, _ in tables.problem.given}
        self.flows: dict[int, int] = {}
        self.lines: dict[int, tuple[int, ...]] = {}
        """What flows to a tensor, to the one that its maker is reached through, and so on."""
        self.mended: set[int] = set()
        """Tensors that a row was found for: taken as whole by what is made from them."""

    def broken(self) -> Iterator[_Inside]:
        for tensor in self._in_order():
            makers = [i for i in self.tables.tensor_makers[tensor] if self.used[i]]
            self.flows[tensor] = sum(min(self.used[i], self._reached(i)) for i in makers)
            inside = self._narrow(tensor) if len(makers) > 1 else None
            if inside is not None:
                self.mended.add(tensor)
                self.flows[tensor] = sum(self.used[i] for i in makers)
            lines = (self.lines.get(self._through(i), ()) for i in makers)
            self.lines[tensor] = (self.flows[tensor], *min(lines, default=())[: _FAR - 1])
            if inside is not None:
                yield inside

    def _in_order(self) -> list[int]:
        """Tensors that are made, each behind what its makers read; those of circles anywhere."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        for i, candidate in enumerate(self.tables.problem.candidates):
            made = [t for t, _ in candidate.outputs if t not in self.given] if self.used[i] else []
            graph.add_nodes_from(made)
            reads = [t for t, _ in candidate.inputs if t not in self.given]
            graph.add_edges_from((read, t) for read in reads for t in made)
        circles = nx.condensation(graph)
        order: list[int] = []
        for circle in nx.topological_sort(circles):
            order += sorted(circles.nodes[circle]["members"])
        return [t for t in order if t in self.tables.tensor_makers]

    def _reads(self, candidate: int) -> list[int]:
        inputs = self.tables.problem.candidates[candidate].inputs
        return [t for t, _ in inputs if t not in self.given]

    def _through(self, candidate: int) -> int:
        """The tensor that a candidate is reached through; -1 where it reads what is given."""
        reads = self._reads(candidate)
        return min(reads, key=lambda t: (self.lines.get(t, (_UNIT,)), t), default=-1)

    def _reached(self, candidate: int) -> int:
        return self.flows.get(self._through(candidate), _UNIT)

    def _narrow(self, target: int) -> _Inside | None:
        """The far side of the least that flows to a tensor; None if all of it does."""
        number = {("source", 0): 0, ("tensor", target): 1}
        arcs: list[tuple[int, int, int]] = []

        def arc(tail: tuple[str, int], head: tuple[str, int], capacity: int) -> None:
            start = number.setdefault(tail, len(number))
            arcs.append((start, number.setdefault(head, len(number)), capacity))

        stack, seen, entered = [target], {target}, set[int]()
        while stack:
            tensor = stack.pop()
            if tensor in self.mended:
                arc(("source", 0), ("tensor", tensor), _UNIT)
                continue
            for i in self.tables.tensor_makers.get(tensor, ()):
                if not self.used[i]:
                    continue
                arc(("candidate", i), ("tensor", tensor), self.used[i])
                if i in entered:
                    continue
                entered.add(i)
                through = self._through(i)
                if self.used[i] >= _UNIT or through < 0:
                    arc(("source", 0), ("candidate", i), self.used[i])
                    continue
                arc(("tensor", through), ("candidate", i), self.used[i])
                if through not in seen:
                    seen.add(through)
                    stack.append(through)
        solver = max_flow.SimpleMaxFlow()
        tails, heads, capacities = (np.array(column) for column in zip(*arcs, strict=True))
        solver.add_arcs_with_capacity(tails, heads, capacities)
        if solver.solve(0, 1) != solver.OPTIMAL:
            return None
        self.flows[target] = min(self.flows[target], solver.optimal_flow())
        wanted = sum(self.used[i] for i in self.tables.tensor_makers[target])
        if solver.optimal_flow() + _SLACK >= wanted:
            return None
        far = set(solver.get_sink_side_min_cut())
        tensors = (t for (kind, t), n in number.items() if kind == "tensor" and n in far)
        return _Inside(target, frozenset(tensors))
