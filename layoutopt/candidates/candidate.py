"""Candidates: a cluster in one form, with one layout for each tensor it touches."""

from __future__ import annotations

from dataclasses import dataclass, field

from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.form import Form
from layoutopt.ir.canonical_layout import canonical
from layoutopt.ir.contiguous import is_contiguous
from layoutopt.ir.copy_folding import simplified
from layoutopt.ir.graph import Graph, Op, Reshape, Slice
from layoutopt.ir.layout import Layout, row_major, unfillable
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.schedule import Tile
from layoutopt.ir.size import Undecided
from layoutopt.rules.propagation import propagate, relayout


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run a cluster."""

    cluster: int
    layouts: tuple[tuple[int, Layout], ...]
    """(tensor, layout) for every tensor of the cluster, weights and inner ones included."""
    form: Form = Form.AS_IT_CAME
    tile: Tile | None = None
    """What registers or workgroups hold, where the form is scheduled."""
    _hash: int = field(init=False, repr=False, compare=False)
    """Worked out once: candidates are keys throughout a plan."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.cluster, self.layouts, self.form, self.tile)))

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
    returned: bool = False
    """Whether the function returns a result, so that it has memory of its own."""

    @property
    def is_free(self) -> bool:
        """Whether nothing runs: reshapes, and slices that IREE reads where they lie."""
        return all(isinstance(op, Reshape) or self._is_in_place(op) for op in self.graph.ops)

    def _is_in_place(self, op: Op) -> bool:
        in_place = isinstance(op, Slice) and is_contiguous(op, self.graph.types)
        return in_place and not self.returned


def identity_candidate(graph: Graph, index: int, cluster: Cluster) -> Candidate:
    """The cluster as the model has it."""
    tensors = tensors_of(graph, cluster)
    return Candidate(index, tuple((t, row_major(len(graph.types[t].shape))) for t in tensors))


def physical_form(graph: Graph, cluster: Cluster, candidate: Candidate) -> PhysicalForm | Refusal:
    """What is emitted for a candidate, or why it has no such form."""
    key = physical_form, cluster, candidate.layouts
    known = graph.worked_out
    if key not in known:  # candidates in the same layouts differ in how contractions are written
        known[key] = _relaid(graph, cluster, candidate.layouts)
    relaid: _Relaid | Refusal = known[key]
    if isinstance(relaid, Refusal):
        return relaid
    try:
        weights = _weights(graph, cluster, relaid)
        written = candidate.form.write(relaid.graph, candidate.tile, weights)
    except Undecided as question:
        return Refusal(str(question))
    if isinstance(written, Refusal):
        return written
    returned = not {*graph.outputs}.isdisjoint(cluster.outputs)
    return PhysicalForm(
        simplified(written), relaid.inputs, relaid.weights, relaid.outputs, cluster.region, returned
    )


@dataclass(frozen=True, slots=True)
class _Relaid:
    """A cluster over the memory forms of its tensors."""

    graph: Graph
    inputs: tuple[int, ...]
    weights: tuple[int, ...]
    outputs: tuple[int, ...]


def _weights(graph: Graph, cluster: Cluster, relaid: _Relaid) -> dict[int, str | None]:
    """The weights of a form, with the value of those that are one number everywhere.

    What a layout pads is not.
    """
    found: dict[int, str | None] = {}
    for tensor, weight in zip(cluster.weights, relaid.weights, strict=True):
        padded = relaid.graph.types[weight].elements != graph.types[tensor].elements
        found[weight] = None if padded else graph.splats.get(tensor)
    return found


def _relaid(
    graph: Graph, cluster: Cluster, assigned: tuple[tuple[int, Layout], ...]
) -> _Relaid | Refusal:
    physical = Physical(graph.types)
    layouts = dict(assigned)
    for tensor, layout in assigned:
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
    return _Relaid(built, inputs, weights, outputs)


def tensors_of(graph: Graph, cluster: Cluster) -> tuple[int, ...]:
    """Every tensor that the ops of a cluster read or make, in order."""
    found: dict[int, None] = {}
    for index in cluster.ops:
        op = graph.ops[index]
        found.update(dict.fromkeys((*op.inputs, *op.outputs)))
    return tuple(found)


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
