"""What a candidate's form computes, beside what the model's own ops compute."""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.candidates.candidate import Candidate, PhysicalForm
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.regions import emitted
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.types import Array
from layoutopt.oracle import evaluate
from tests.property.layouts import small_integers


def outputs_of(
    cluster: Cluster, candidate: Candidate, form: PhysicalForm, values: dict[int, Array]
) -> Iterator[tuple[int, Layout, Array]]:
    """(tensor, layout, memory) of each output of a candidate, run on the model's own tensors."""
    read = zip((*cluster.inputs, *cluster.weights), (*form.inputs, *form.weights), strict=True)
    given = {p: candidate.layout_of(t).apply(values[t]) for t, p in read}
    memory = evaluate(emitted(form), given)
    for tensor, place in zip(cluster.outputs, form.outputs, strict=True):
        yield tensor, candidate.layout_of(tensor), memory[place]


def random_values(graph: Graph) -> dict[int, Array]:
    """All tensors of a graph, from inputs of small integers."""
    return evaluate(graph, {t: small_integers(graph.types[t], t) for t in graph.inputs})
