"""Enumerate the candidates of clusters, one after another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from layoutopt.candidates.candidate import (
    Candidate,
    PhysicalForm,
    follow,
    identity_candidate,
    physical_form,
)
from layoutopt.candidates.channelwise_ways import channelwise_ways
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.convolution_ways import convolution_ways, window_ways
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import (
    ContractionForms,
    bytes_in_panels,
    in_panels,
    matmul_ways,
    panel_ways,
)
from layoutopt.candidates.one_pass import puts_together
from layoutopt.candidates.output_variants import output_layout_variants, padding_variants
from layoutopt.candidates.packing.options import PackingOptions, packings
from layoutopt.candidates.partition import is_root
from layoutopt.candidates.preference import (
    groups_match,
    lhs_layouts,
    result_layouts,
    rhs_layouts,
    weight_layout,
)
from layoutopt.candidates.regions import is_refused
from layoutopt.candidates.scheduled_elementwise import elementwise_tile
from layoutopt.candidates.scheduled_packed import packed_tile
from layoutopt.candidates.scheduled_rows import row_tiles
from layoutopt.candidates.space import LayoutSets
from layoutopt.compiler.gpu import GpuUnits
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.canonical_layout import canonical
from layoutopt.ir.graph import FromTensor, Graph, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.named import is_mmt4d
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.roles import is_windowed
from layoutopt.ir.schedule import VectorTile


def enumerate_candidates(
    egraph: EGraph,
    clusters: tuple[Cluster, ...],
    sets: LayoutSets,
    forms: ContractionForms,
    options: PackingOptions | None = None,
) -> tuple[tuple[Candidate, ...], tuple[tuple[int, str], ...]]:
    """All candidates of all simple clusters, and (op, reason) for forms that do not exist.

    ``forms``: what contractions may be written as. ``options``: of packed ones.
    The first candidate of a cluster of the model's own ops is its identity: row-major
    throughout, written as it came.
    """
    found: dict[Candidate, None] = {}
    refusals: dict[tuple[int, str], None] = {}
    vectors = forms.registers is not None
    for index, cluster in enumerate(clusters):
        root = egraph.graph.ops[cluster.root]
        if cluster.atomic:
            continue
        if cluster.replaced:
            found[identity_candidate(egraph.graph, index, cluster)] = None
            continue
        ways = (
            itertools.chain(
                _contraction_ways(egraph, index, cluster, root, sets, forms),
                _packed_ways(egraph, index, cluster, root, sets, options or PackingOptions()),
            )
            if isinstance(root, Structured) and root.is_contraction
            else _plain_ways(egraph, index, cluster, sets, forms)
        )
        for way in ways:
            if isinstance(way, Refusal):
                refusals[cluster.root, way.reason] = None
            elif not (vectors and cluster.region and is_refused(egraph.graph, cluster, way)):
                found[way] = None
    return tuple(found), tuple(refusals)


def _plain_ways(
    egraph: EGraph, index: int, cluster: Cluster, sets: LayoutSets, forms: ContractionForms
) -> Iterator[Candidate | Refusal]:
    """A cluster without contraction: every layout of each side, and what follows from it."""
    graph = egraph.graph
    root = graph.ops[cluster.root]
    identity = identity_candidate(graph, index, cluster)
    yield identity
    if isinstance(root, Structured) and root.is_copy and is_root(root):
        source, result = root.sources[0], root.results[0]
        for pair in itertools.product(sets.of[source], sets.of[result]):
            start = dict(zip((source, result), pair, strict=True))
            way = follow(graph, index, cluster, start, cluster.beside_root)
            yield way
            vectors = forms.registers is not None and not cluster.region
            if isinstance(way, Candidate) and vectors and is_windowed(root):
                yield from _as_others(graph, cluster, replace(way, form=Form.ONE_PASS))
        return
    ways = [
        follow(graph, index, cluster, {tensor: layout}, cluster.ops)
        for tensor in (*cluster.inputs, *cluster.outputs)
        for layout in sets.of[tensor]
    ]
    yield from ways
    for way in (identity, *ways):
        if isinstance(way, Candidate):
            yield from _written_otherwise(graph, cluster, way, forms)


def _written_otherwise(
    graph: Graph, cluster: Cluster, way: Candidate, forms: ContractionForms
) -> Iterator[Candidate | Refusal]:
    """A cluster without contraction in the same layouts, with a schedule or as other ops."""
    root = graph.ops[cluster.root]
    if isinstance(root, Structured) and is_windowed(root):
        yield from channelwise_ways(graph, cluster, way, forms)
    if forms.registers is not None and not cluster.region:
        yield from _elementwise(graph, cluster, way, forms.registers, forms.threads)
        yield from _as_others(graph, cluster, replace(way, form=Form.LANES))
    if forms.rows is not None and not cluster.region:
        yield from _rows(graph, cluster, way, forms.rows)
    if any(puts_together(graph.ops[i]) for i in cluster.ops):
        yield from _as_others(graph, cluster, replace(way, form=Form.ONE_PASS))


def _as_others(graph: Graph, cluster: Cluster, way: Candidate) -> Iterator[Candidate]:
    """A way that writes a cluster as other ops, where that can be."""
    if isinstance(physical_form(graph, cluster, way), PhysicalForm):
        yield way


def _elementwise(
    graph: Graph, cluster: Cluster, way: Candidate, registers: VectorRegisters, threads: int
) -> Iterator[Candidate]:
    """The same layouts as one elementwise op with a schedule, where a tile suits."""
    form = physical_form(graph, cluster, way)
    if isinstance(form, Refusal):
        return
    tile = elementwise_tile(form.graph, registers)
    if isinstance(tile, VectorTile):
        yield replace(way, form=Form.ELEMENTWISE, tile=replace(tile, threads=threads))


def _rows(graph: Graph, cluster: Cluster, way: Candidate, units: GpuUnits) -> Iterator[Candidate]:
    """The same layouts with the lanes of a workgroup sharing each row, where rows are reduced."""
    form = physical_form(graph, cluster, way)
    if isinstance(form, PhysicalForm):
        for tile in row_tiles(form.graph, units):
            yield replace(way, form=Form.ROWS, tile=tile)


def _contraction_ways(
    egraph: EGraph,
    index: int,
    cluster: Cluster,
    root: Structured,
    sets: LayoutSets,
    forms: ContractionForms,
) -> Iterator[Candidate | Refusal]:
    graph = egraph.graph
    lhs, rhs = root.sources
    result = root.results[0]
    original = cluster.root < egraph.original_ops
    if original:
        yield identity_candidate(graph, index, cluster)
        if cluster.root in egraph.canonicalized:
            return
    windowed = is_windowed(root)
    own = lhs_layouts(root, graph.types[lhs])
    lefts = [x for x in own if x in sets.of[lhs]]
    rights = rhs_layouts(root, graph.types[rhs]) if rhs not in graph.constants else ()
    results = [x for x in result_layouts(root, graph.types[result]) if x in sets.of[result]]
    for left, made in itertools.product(lefts, results):
        if windowed and (left.is_row_major != made.is_row_major):
            continue
        weights = [r for r in rights if r in sets.of[rhs]] or [
            weight_layout(root, graph.types[rhs], left, made, graph.types)
        ]
        for right in weights:
            if windowed and not groups_match(root, (left, right, made)):
                continue
            start = {lhs: left, rhs: right, result: made}
            start = {t: canonical(graph.types[t].shape, x) for t, x in start.items()}
            for init in root.inits:
                if isinstance(init, FromTensor):
                    start[init.tensor] = made
            way = follow(graph, index, cluster, start, cluster.beside_root)
            if isinstance(way, Refusal):
                yield way
                continue
            if windowed:
                yield way
                yield from convolution_ways(graph, index, cluster, start, sets, forms)
                yield from channelwise_ways(graph, cluster, way, forms)
                yield from window_ways(graph, cluster, way, forms)
                continue
            yield from matmul_ways(graph, cluster, way, forms)
            yield from _panel_ways(graph, index, cluster, start, sets, forms)


def _panel_ways(
    graph: Graph,
    index: int,
    cluster: Cluster,
    start: dict[int, Layout],
    sets: LayoutSets,
    forms: ContractionForms,
) -> Iterator[Candidate | Refusal]:
    """The weights in panels, where the root has any; ``start``: layouts around it."""
    root = graph.ops[cluster.root]
    assert isinstance(root, Structured)
    for layouts in (
        in_panels(graph, [root], start, forms),
        None if cluster.region else bytes_in_panels(graph, root, start, forms),
    ):
        if layouts is None or not sets.allow(layouts, (root.sources[0], *root.results)):
            continue
        way = follow(graph, index, cluster, layouts, cluster.beside_root)
        if isinstance(way, Refusal):
            yield way
        else:
            yield from panel_ways(graph, cluster, way, forms)


def _packed_ways(
    egraph: EGraph,
    index: int,
    cluster: Cluster,
    root: Structured,
    sets: LayoutSets,
    options: PackingOptions,
) -> Iterator[Candidate | Refusal]:
    graph, name = egraph.graph, egraph.graph.name_of(cluster.root)
    if cluster.root in egraph.canonicalized:
        return
    lhs, rhs = root.sources
    result = root.results[0]
    for packing in packings(root, graph.types, options, rhs in graph.constants, name):
        start = {lhs: packing.lhs, rhs: packing.rhs, result: packing.result}
        if any(t not in graph.constants and x not in sets.of[t] for t, x in start.items()):
            continue
        for init in root.inits:
            if isinstance(init, FromTensor):
                start[init.tensor] = packing.result
        way = follow(graph, index, cluster, start, cluster.beside_root)
        if isinstance(way, Candidate):
            way = replace(way, form=Form.PACKED if packing.mmt4d else Form.PACKED_GENERALIZED)
            form = physical_form(graph, cluster, way)
            if isinstance(form, Refusal):
                yield form
                continue
            if packing.mmt4d and not any(
                isinstance(op, Structured) and is_mmt4d(op) for op in form.graph.ops
            ):
                continue
            if options.registers is not None and not packing.mmt4d:
                way = _scheduled(way, form, options.registers)
            others = [*padding_variants(graph, cluster, way.layouts, sets)]
            if packing.mmt4d:
                others += output_layout_variants(graph, cluster, way.layouts, result, sets)
            for layouts in others:
                other = replace(way, layouts=layouts)
                if not isinstance(physical_form(graph, cluster, other), Refusal):
                    yield other
        yield way


def _scheduled(way: Candidate, form: PhysicalForm, registers: VectorRegisters) -> Candidate:
    """A packed candidate with a tile of registers for its contraction, where one suits."""
    tiles = (packed_tile(op, form.graph.types, registers) for op in form.graph.ops)
    tile = next((tile for tile in tiles if tile is not None), None)
    return way if tile is None else replace(way, form=Form.PACKED_SCHEDULED, tile=tile)
