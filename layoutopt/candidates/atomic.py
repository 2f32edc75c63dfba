"""Candidates of atomic clusters: several dispatches in layouts that suit their contractions.

The contractions inside are of one kind, so all of them take the same choice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from layoutopt.candidates.candidate import Candidate, follow
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.matmul_ways import ContractionForms, in_panels, matmul_ways, panel_ways
from layoutopt.candidates.preference import lhs_layouts, result_layouts, weight_layout
from layoutopt.candidates.space import LayoutSets
from layoutopt.compiler.installed import quirks
from layoutopt.ir.canonical_layout import canonical
from layoutopt.ir.graph import Slice, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Refusal


def atomic_candidates(
    egraph: EGraph, clusters: tuple[Cluster, ...], sets: LayoutSets, forms: ContractionForms
) -> tuple[tuple[Candidate, ...], tuple[tuple[int, str], ...]]:
    """All candidates of atomic clusters, and (op, reason) for forms that do not exist.

    ``forms``: what contractions may be written as.
    """
    found: dict[Candidate, None] = {}
    refusals: dict[tuple[int, str], None] = {}
    for index, cluster in enumerate(clusters):
        for way in _ways(egraph, index, cluster, sets, forms) if cluster.atomic else ():
            if isinstance(way, Refusal):
                refusals[cluster.root, way.reason] = None
            else:
                found[way] = None
    return tuple(found), tuple(refusals)


def _ways(
    egraph: EGraph, index: int, cluster: Cluster, sets: LayoutSets, forms: ContractionForms
) -> Iterator[Candidate | Refusal]:
    graph = egraph.graph
    contractions = [op for i in cluster.ops if (op := _contraction(egraph, i)) is not None]
    others = tuple(i for i in cluster.ops if _contraction(egraph, i) is None)
    sliced = {t for i in others if isinstance(graph.ops[i], Slice) for t in graph.ops[i].outputs}
    tiled = forms.data_tiling and (
        quirks().limits.tiles_slices or all(sliced.isdisjoint(op.inputs) for op in contractions)
    )
    first = contractions[0]
    lefts = lhs_layouts(first, graph.types[first.sources[0]])
    results = result_layouts(first, graph.types[first.results[0]])
    for left, made in itertools.product(lefts, results):
        if left.is_row_major != made.is_row_major:
            continue
        start: dict[int, Layout] = {}
        for op in contractions:
            lhs, rhs = op.sources
            weight = weight_layout(op, graph.types[rhs], left, made, graph.types)
            start |= {lhs: left, rhs: weight, op.results[0]: made}
        start = {t: canonical(graph.types[t].shape, x) for t, x in start.items()}
        way = follow(graph, index, cluster, start, others)
        if isinstance(way, Refusal):
            yield way
            continue
        if not _is_open(way, cluster, sets):
            continue
        yield from matmul_ways(graph, cluster, way, replace(forms, data_tiling=tiled))
        layouts = in_panels(graph, contractions, start, forms)
        panels = None if layouts is None else follow(graph, index, cluster, layouts, others)
        if isinstance(panels, Candidate) and _is_open(panels, cluster, sets):
            yield from panel_ways(graph, cluster, panels, forms)


def _is_open(way: Candidate, cluster: Cluster, sets: LayoutSets) -> bool:
    """Whether tensors around the cluster may have these layouts."""
    return all(way.layout_of(t) in sets.of[t] for t in (*cluster.inputs, *cluster.outputs))


def _contraction(egraph: EGraph, index: int) -> Structured | None:
    op = egraph.graph.ops[index]
    return op if isinstance(op, Structured) and op.is_contraction else None
