"""Rows that every answer keeps, and that the relaxation with fractions breaks: landmarks.

Take a set T of tensors none of which is given. In any answer that makes one of them, the first one
is made by a candidate that reads nothing of T. So, for every tensor t of T,

    sum of y over the makers of t <= sum of y over the makers of T that read nothing of T

(a disjunctive action landmark of t; Helmert and Domshlak, "Landmarks, critical paths and
abstractions", ICAPS 2009; the row is a loop formula for a T without a circle in it). Fractions
break it where two ways to t meet again further up: with a half of a contraction, t is made by halves
in one way, and from that half in another way too. The T that is broken most follows from a minimum
cut: of all that flows from the given tensors to t, through candidates that carry what the
relaxation has of them, each reached through one of the tensors that it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ortools.graph.python import max_flow

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.flow import Flow
from layoutopt.solver.program import Term

_UNIT = 1_000_000  # flows are whole
_SLACK = 1_000  # of a unit: what counts as broken
_NO_LIMIT = 1 << 40


def landmarks(tables: Derivability, flow: Flow, values: Sequence[float]) -> list[list[Term]]:
    """Return rows `terms <= 0` that these values break; none if none was found."""
    used = [round(values[variable] * _UNIT) for variable in flow.candidates]
    given = {tensor for tensor, _ in tables.problem.given}
    rows: dict[frozenset[int], list[Term]] = {}
    for tensor, makers in tables.tensor_makers.items():
        if tensor in given or sum(0 < used[i] for i in makers) < 2:
            continue
        inside = _narrow(tables, used, given, tensor)
        if inside is None:
            continue
        starts = _starts(tables, inside)
        if sum(used[i] for i in starts) + _SLACK < sum(used[i] for i in makers):
            terms: list[Term] = [(flow.candidates[i], 1) for i in makers]
            terms += [(flow.candidates[i], -1) for i in sorted(starts)]
            rows[starts] = terms
    return list(rows.values())


def _starts(tables: Derivability, inside: set[int]) -> frozenset[int]:
    """Candidates that make a tensor inside, and read none."""
    makers = {i for tensor in inside for i in tables.tensor_makers[tensor]}
    reads = ((i, (t for t, _ in tables.problem.candidates[i].inputs)) for i in makers)
    return frozenset(i for i, tensors in reads if inside.isdisjoint(tensors))


def _narrow(
    tables: Derivability, used: Sequence[int], given: set[int], target: int
) -> set[int] | None:
    """Tensors on the far side of the least that flows to a target; None if enough does."""
    node: dict[tuple[str, int], int] = {("source", 0): 0, ("tensor", target): 1}
    tails: list[int] = []
    heads: list[int] = []
    capacities: list[int] = []

    def arc(tail: tuple[str, int], head: tuple[str, int], capacity: int) -> None:
        tails.append(node.setdefault(tail, len(node)))
        heads.append(node.setdefault(head, len(node)))
        capacities.append(capacity)

    stack, seen, entered = [target], {target}, set[int]()
    while stack:
        tensor = stack.pop()
        for i in tables.tensor_makers.get(tensor, ()):
            if not used[i]:
                continue
            arc(("candidate", i), ("tensor", tensor), used[i])
            if i in entered:
                continue
            entered.add(i)
            reads = [t for t, _ in tables.problem.candidates[i].inputs if t not in given]
            if used[i] == _UNIT or not reads:
                arc(("source", 0), ("candidate", i), used[i])
                continue
            through = min(reads, key=lambda t: (_largest(tables, used, t), t))
            arc(("tensor", through), ("candidate", i), used[i])
            if through not in seen:
                seen.add(through)
                stack.append(through)
    wanted = sum(used[i] for i in tables.tensor_makers[target])
    solver = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(
        np.array(tails, np.int32), np.array(heads, np.int32), np.array(capacities, np.int64)
    )
    if solver.solve(0, 1) != solver.OPTIMAL or solver.optimal_flow() + _SLACK >= wanted:
        return None
    far = set(solver.get_sink_side_min_cut())
    return {number for (kind, number), n in node.items() if kind == "tensor" and n in far}


def _largest(tables: Derivability, used: Sequence[int], tensor: int) -> int:
    """Of what makes a tensor, the most that is used of one."""
    return max((used[i] for i in tables.tensor_makers.get(tensor, ())), default=_UNIT)
