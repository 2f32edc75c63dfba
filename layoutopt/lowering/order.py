"""The order in which chosen candidates and conversions are written."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion
from layoutopt.ir.layout import Layout

Pair = tuple[int, Layout]
"""(tensor, layout)."""


def in_order(
    clusters: Sequence[Cluster], choice: Choice, known: dict[Pair, int]
) -> list[Candidate | Conversion]:
    """Steps such that every input is there before it is read. Deterministic."""
    steps: list[Candidate | Conversion] = [*choice.candidates, *choice.conversions]
    order: nx.DiGraph = nx.DiGraph()
    order.add_nodes_from(range(len(steps)))
    makers: dict[Pair, list[int]] = {}
    for i, step in enumerate(steps):
        for pair in _outputs(clusters, step):
            makers.setdefault(pair, []).append(i)
    for i, step in enumerate(steps):
        for pair in _inputs(clusters, step):
            if pair not in known:
                order.add_edges_from((maker, i) for maker in makers.get(pair, ())[:1])
    return [steps[i] for i in nx.lexicographical_topological_sort(order)]


def _inputs(clusters: Sequence[Cluster], step: Candidate | Conversion) -> list[Pair]:
    if isinstance(step, Candidate):
        layouts = dict(step.layouts)
        return [(t, layouts[t]) for t in clusters[step.cluster].inputs]
    return [(step.tensor, step.source)]


def _outputs(clusters: Sequence[Cluster], step: Candidate | Conversion) -> list[Pair]:
    if isinstance(step, Candidate):
        layouts = dict(step.layouts)
        return [(t, layouts[t]) for t in clusters[step.cluster].outputs]
    return [(step.tensor, step.target)]
