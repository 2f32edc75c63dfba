"""Candidates: a cluster in one form, with one layout for each tensor it touches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from layoutopt.candidates.cluster import Cluster, is_root
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.form import Form
from layoutopt.candidates.output_variants import output_layout_variants, padding_variants
from layoutopt.candidates.packing.options import PackingOptions, packings
from layoutopt.candidates.preference import (
    lhs_layouts,
    result_layouts,
    rhs_layouts,
    weight_layout,
)
from layoutopt.candidates.space import LayoutSets
from layoutopt.ir.canonical_layout import canonical
from layoutopt.ir.copy_folding import simplified
from layoutopt.ir.graph import FromTensor, Graph, Op, Reshape, Structured
from layoutopt.ir.layout import Layout, row_major, unfillable
from layoutopt.ir.named import named_op
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.roles import is_windowed
from layoutopt.rules.propagation import propagate, relayout


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run a cluster."""

    cluster: int
    layouts: tuple[tuple[int, Layout], ...]
    """(tensor, layout) for every tensor of the cluster, weights and inner ones included."""
    form: Form = Form.AS_IT_CAME
    _hash: int = field(init=False, repr=False, compare=False)
    """Worked out once: candidates are keys throughout a plan."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.cluster, self.layouts, self.form)))

    def __hash__(self) -> int:
        return self._hash

    def layout_of(self, tensor: int) -> Layout:
        """The layout of one tensor of the cluster."""
        return dict(self.layouts)[tensor]


@dataclass(frozen=True, slots=True)
class PhysicalForm:
    """A candidate as it is emitted: a graph over row-major tensors."""

    graph: Graph
    inputs: tuple[int, ...]
    weights: tuple[int, ...]
    outputs: tuple[int, ...]
    region: bool = False
    """Written as one ``flow.dispatch.region``."""

    @property
    def is_free(self) -> bool:
        """Whether nothing runs: reshapes and renamings only."""
        return all(isinstance(op, Reshape) for op in self.graph.ops)


def enumerate_candidates(
    egraph: EGraph,
    clusters: tuple[Cluster, ...],
    sets: LayoutSets,
    data_tiling: bool,
    options: PackingOptions | None = None,
) -> tuple[tuple[Candidate, ...], tuple[tuple[int, str], ...]]:
    """All candidates of all simple clusters, and (op, reason) for forms that do not exist.

    ``data_tiling``: whether the target knows per-op data tiling. ``options``: of packed
    contractions.
    The first candidate of a cluster of the model's own ops is its identity: row-major
    throughout, written as it came.
    """
    found: dict[Candidate, None] = {}
    refusals: dict[tuple[int, str], None] = {}
    for index, cluster in enumerate(clusters):
        root = egraph.graph.ops[cluster.root]
        if cluster.atomic:
            continue
        if cluster.replaced:
            found[identity_candidate(egraph.graph, index, cluster)] = None
            continue
        ways = (
            itertools.chain(
                _contraction_ways(egraph, index, cluster, root, sets, data_tiling),
                _packed_ways(egraph, index, cluster, root, sets, options or PackingOptions()),
            )
            if isinstance(root, Structured) and root.is_contraction
            else _plain_ways(egraph, index, cluster, sets)
        )
        for way in ways:
            if isinstance(way, Refusal):
                refusals[cluster.root, way.reason] = None
            else:
                found[way] = None
    return tuple(found), tuple(refusals)


def identity_candidate(graph: Graph, index: int, cluster: Cluster) -> Candidate:
    """The cluster as the model has it."""
    tensors = tensors_of(graph, cluster)
    return Candidate(index, tuple((t, row_major(len(graph.types[t].shape))) for t in tensors))


def physical_form(graph: Graph, cluster: Cluster, candidate: Candidate) -> PhysicalForm | Refusal:
    """What is emitted for a candidate, or why it has no such form."""
    physical = Physical(graph.types)
    layouts = dict(candidate.layouts)
    for tensor, layout in candidate.layouts:
        reason = unfillable(graph.types[tensor], layout)
        if reason is not None:
            return Refusal(reason)
    for op in cluster.ops:
        refusal = relayout(graph.ops[op], layouts, physical)
        if refusal is not None:
            return refusal
    inputs, weights, outputs = (
        tuple(physical.tensor(t, layouts[t]) for t in group)
        for group in (cluster.inputs, cluster.weights, cluster.outputs)
    )
    built = physical.builder.build((*inputs, *weights), outputs)
    built = candidate.form.write(built)
    return PhysicalForm(simplified(built), inputs, weights, outputs, cluster.region)


def tensors_of(graph: Graph, cluster: Cluster) -> tuple[int, ...]:
    """Every tensor that the ops of a cluster read or make, in order."""
    found: dict[int, None] = {}
    for index in cluster.ops:
        op = graph.ops[index]
        found.update(dict.fromkeys((*op.inputs, *op.outputs)))
    return tuple(found)


def _plain_ways(
    egraph: EGraph, index: int, cluster: Cluster, sets: LayoutSets
) -> Iterator[Candidate | Refusal]:
    """A cluster without contraction: every layout of each side, and what follows from it."""
    graph = egraph.graph
    root = graph.ops[cluster.root]
    yield identity_candidate(graph, index, cluster)
    if isinstance(root, Structured) and root.is_copy and is_root(root):
        source, result = root.sources[0], root.results[0]
        for pair in itertools.product(sets.of[source], sets.of[result]):
            start = dict(zip((source, result), pair, strict=True))
            yield follow(graph, index, cluster, start, cluster.beside_root)
        return
    for tensor in (*cluster.inputs, *cluster.outputs):
        for layout in sets.of[tensor]:
            yield follow(graph, index, cluster, {tensor: layout}, cluster.ops)


def _contraction_ways(
    egraph: EGraph,
    index: int,
    cluster: Cluster,
    root: Structured,
    sets: LayoutSets,
    data_tiling: bool,
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
            start = {lhs: left, rhs: right, result: made}
            start = {t: canonical(graph.types[t].shape, x) for t, x in start.items()}
            for init in root.inits:
                if isinstance(init, FromTensor):
                    start[init.tensor] = made
            way = follow(graph, index, cluster, start, cluster.beside_root)
            if isinstance(way, Refusal):
                yield way
                continue
            yield from _forms(graph, cluster, way, windowed, data_tiling)


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
            if packing.mmt4d and not any(map(_is_mmt4d, form.graph.ops)):
                continue
            others = [*padding_variants(graph, cluster, way.layouts, sets)]
            if packing.mmt4d:
                others += output_layout_variants(graph, cluster, way.layouts, result, sets)
            for layouts in others:
                other = replace(way, layouts=layouts)
                if not isinstance(physical_form(graph, cluster, other), Refusal):
                    yield other
        yield way


def _is_mmt4d(op: Op) -> bool:
    named = named_op(op) if isinstance(op, Structured) else None
    return named is not None and named.name.endswith("mmt4d")


def _forms(
    graph: Graph, cluster: Cluster, way: Candidate, windowed: bool, data_tiling: bool
) -> Iterator[Candidate | Refusal]:
    """The same layouts as they came or as matmul, plain or data-tiled."""
    if windowed:
        yield way
        return
    matmul = replace(way, form=Form.AS_MATMUL)
    form = physical_form(graph, cluster, matmul)
    if isinstance(form, Refusal):
        yield form
        return
    yield matmul
    if data_tiling and any(_tileable(op) for op in form.graph.ops):
        yield replace(way, form=Form.DATA_TILED)


def _tileable(op: Op) -> bool:
    """Whether IREE data-tiles the op: matmul and its kin."""
    if not isinstance(op, Structured) or not op.is_contraction or is_windowed(op):
        return False
    named = named_op(op)
    return named is not None and named.name in ("matmul", "batch_matmul", "matvec", "vecmat")


def follow(
    graph: Graph, index: int, cluster: Cluster, start: dict[int, Layout], ops: tuple[int, ...]
) -> Candidate | Refusal:
    """Let the layouts of ``start`` pass through ``ops`` until every tensor has one."""
    known = dict(start)
    pending = list(ops)
    while pending:
        ready = [
            i
            for i in pending
            if any(t in known for t in (*graph.ops[i].inputs, *graph.ops[i].outputs))
        ]
        if not ready:
            break
        op = graph.ops[ready[0]]
        pending.remove(ready[0])
        through = (
            next(t for t in (*op.outputs, *op.inputs) if t in known)
            if not any(t in known for t in op.inputs)
            else _widest(graph, op, known)
        )
        layouts = propagate(op, graph.types, through, known[through])
        if isinstance(layouts, Refusal):
            return layouts
        for tensor, layout in layouts.items():
            known.setdefault(tensor, canonical(graph.types[tensor].shape, layout))
    for tensor in tensors_of(graph, cluster):
        known.setdefault(tensor, row_major(len(graph.types[tensor].shape)))
    return Candidate(index, tuple((t, known[t]) for t in tensors_of(graph, cluster)))


def _widest(graph: Graph, op: Op, known: dict[int, Layout]) -> int:
    """The largest known input: it says most about the order of the loops."""
    return max((t for t in op.inputs if t in known), key=lambda t: graph.types[t].elements)
