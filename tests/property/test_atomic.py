"""Atomic clusters compute what the model computes, in every layout they are offered in."""

from __future__ import annotations

from hypothesis import given, settings

from layoutopt.candidates.atomic import atomic_candidates
from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.cluster import form_clusters
from layoutopt.candidates.saturation import saturate
from layoutopt.candidates.space import layout_sets
from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from tests.contraction_forms import EVERY_FORM
from tests.property.forms import outputs_of, random_values
from tests.property.layouts import assert_close
from tests.property.rules.windowed import dense_convolutions

fired = 0


@given(dense_convolutions())
@settings(max_examples=60, deadline=None)
def check(graph: Graph) -> None:
    global fired  # noqa: PLW0603 -- hypothesis hands nothing back
    egraph = saturate(graph)
    clusters = form_clusters(egraph)
    found, _ = atomic_candidates(egraph, clusters, layout_sets(egraph, None, 12), EVERY_FORM)
    values = random_values(egraph.graph)
    for candidate in found:
        cluster = clusters[candidate.cluster]
        form = physical_form(egraph.graph, cluster, candidate)
        assert not isinstance(form, Refusal)
        for tensor, layout, memory in outputs_of(cluster, candidate, form, values):
            assert_close(layout.undo(memory, egraph.graph.types[tensor].shape), values[tensor])
            fired += any(not candidate.layout_of(t).is_row_major for t in cluster.inputs)


def test_atomic_clusters_are_right_in_every_layout() -> None:
    check()
    assert fired, "no atomic cluster took channels last"
