"""What candidates have to compute: values on chosen inputs, and how far each may be off.

By the oracle, from the model's own ops wherever these lead from what a cluster reads to what it
makes. Where the oracle does not know an op, or IREE computes something else of the model's own ops,
what IREE computes of them is right.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from layoutopt.candidates.cluster import Cluster
from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Constant, Graph, Opaque
from layoutopt.ir.renaming import counted_from_zero
from layoutopt.ir.types import Array, numpy_dtype
from layoutopt.oracle import OracleError, evaluate_bounded
from layoutopt.oracle.constant import constant
from layoutopt.oracle.inputs import candidate_inputs, chosen_inputs
from layoutopt.oracle.precision import real_part, unit_roundoff
from layoutopt.oracle.precision import rounds as is_rounded
from layoutopt.oracle.rounding import total

Values = dict[int, Array]

_ROUNDINGS = 64
"""Roundings of the largest number that a result may be off by where nothing better is known."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Values of what a cluster reads, and of its outputs with the bounds of their errors."""

    values: Values
    errors: Values
    unchecked: str = ""
    """Why nothing is known of the outputs."""


@dataclass
class References:
    """The references of a function's clusters."""

    graph: Graph
    own: tuple[Collection[int], ...]
    """The model's own ops, each in order: as they came, and in canonical form."""
    learned: dict[Cluster, Reference] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.graph = concrete(self.graph)

    def of(self, cluster: Cluster) -> Reference:
        """What IREE computes of the model's own ops where that was asked for, else the oracle."""
        for known, reference in self.learned.items():
            read, made = {*known.inputs, *known.weights}, set(known.outputs)
            if read.issuperset((*cluster.inputs, *cluster.weights)) and made.issuperset(
                cluster.outputs
            ):
                return reference
        return self._computed(cluster)

    def learn(self, cluster: Cluster, outputs: Sequence[Array]) -> None:
        """Take what IREE computed of a cluster of the model's own ops, on its inputs here."""
        found = self._computed(cluster)
        values, errors = dict(found.values), {}
        for tensor, output in zip(cluster.outputs, outputs, strict=True):
            element = self.graph.types[tensor].element
            values[tensor] = output.astype(numpy_dtype(element))
            size = (
                float(np.max(np.abs(output[np.isfinite(output)]), initial=0.0))
                if (is_rounded(element))
                else 0.0
            )
            loose = _ROUNDINGS * unit_roundoff(real_part(element)) * size if size else 0.0
            known = found.errors.get(tensor)
            either = np.broadcast_to(loose, output.shape) if known is None else known + loose
            errors[tensor] = np.asarray(either, np.float64)
        self.learned[cluster] = Reference(values, errors)

    def _computed(self, cluster: Cluster) -> Reference:
        known = frozenset().union(*self.own)
        found = (own_ops(self.graph, ops, cluster, known) for ops in self.own)
        own = next(filter(None, found), ())
        ways = (cluster.ops,) if own in ((), cluster.ops) else (own, cluster.ops)
        ops, tensors = counted_from_zero(self.graph.ops[i] for way in ways for i in way)
        first = len(ways[0])
        splats = self.graph.splats
        place = {tensor: i for i, tensor in enumerate(tensors)}
        graph = Graph(
            tuple(self.graph.types[t] for t in tensors),
            ops[:first],
            tuple(place[t] for t in (*cluster.inputs, *cluster.weights) if t in place),
            tuple(place[t] for t in cluster.outputs),
        )
        other = replace(graph, ops=ops[first:]) if ops[first:] else None
        fixed = tuple((place[t], splats[t]) for t in cluster.weights if t in splats and t in place)
        held = _evaluated(graph, other, fixed)
        return Reference(
            {t: held.values[i] for t, i in place.items() if i in held.values},
            {t: held.errors[i] for t, i in place.items() if i in held.errors},
            held.unchecked,
        )


@lru_cache(maxsize=4)
def _evaluated(graph: Graph, other: Graph | None, splats: tuple[tuple[int, str], ...]) -> Reference:
    """The tensors of a small graph. ``other``: the ops that a candidate has in place of its own."""
    fixed: Values = {}
    for t, splat in splats:
        kind = graph.types[t]
        value = constant(splat, kind.element)
        if value is not None:
            fixed[t] = np.full(kind.shape, value)
    try:
        inputs, values, errors = chosen_inputs(graph, fixed)
        if other is not None:
            _, beside = evaluate_bounded(other, inputs)
            for t in graph.outputs:
                both = total(errors.get(t), beside.get(t))
                if both is not None:
                    errors[t] = both
    except OracleError as error:
        *_, safe = list(candidate_inputs(graph, fixed))[:3]
        return Reference(safe, {}, str(error))
    return Reference(values, errors)


def own_ops(
    graph: Graph, own: Collection[int], cluster: Cluster, known: Collection[int]
) -> tuple[int, ...]:
    """The model's own ops from what a cluster reads to what it makes; empty where there are none.

    None where one thing that it reads depends on another: they cannot be chosen apart. ``known``:
    the ops by which it may; normalization adds sums of weights, which its ops read beside the
    weights, and the model as it came does not have them.
    """
    leaves = {*cluster.inputs, *cluster.weights}
    found = _back(graph, own, cluster.outputs, leaves)
    if not found:
        return ()
    for leaf in leaves:
        behind = _ancestors(graph, known, leaf)
        if behind & (leaves - {leaf}):
            return ()
    return tuple(i for i in own if i in found)


def _back(graph: Graph, own: Collection[int], outputs: Sequence[int], leaves: set[int]) -> set[int]:
    pending, found = list(outputs), set[int]()
    while pending:
        tensor = pending.pop()
        if tensor in leaves:
            continue
        maker = _own_producer(graph, own, tensor)
        if maker is None or isinstance(graph.ops[maker], Constant | Opaque):
            return set()
        if maker not in found:
            found.add(maker)
            pending.extend(graph.ops[maker].inputs)
    return found


def _ancestors(graph: Graph, known: Collection[int], tensor: int) -> set[int]:
    pending, found = [tensor], set[int]()
    while pending:
        makers = (i for i in graph.producers[pending.pop()] if i in known)
        for t in (t for i in makers for t in graph.ops[i].inputs):
            if t not in found:
                found.add(t)
                pending.append(t)
    return found


def _own_producer(graph: Graph, own: Collection[int], tensor: int) -> int | None:
    return next((i for i in graph.producers[tensor] if i in own), None)
