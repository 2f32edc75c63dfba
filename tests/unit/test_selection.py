"""Which conversions a plan may need."""

from __future__ import annotations

from layoutopt.candidate import Candidate
from layoutopt.cluster import cluster_of
from layoutopt.graph import GraphBuilder, Reshape
from layoutopt.layout import Layout, row_major
from layoutopt.selection import build_selection, needed_conversions
from layoutopt.solver import Status, solve

PLAIN, PADDED = row_major(1), Layout((0,), (0,), (4,))


def test_a_free_output_that_is_made_with_padding_is_converted() -> None:
    g = GraphBuilder()
    x, y = g.tensor((6,), "f32"), g.tensor((6,), "f32")
    g.add(Reshape(x, y))
    graph = g.build((x,), (y,))
    clusters = (cluster_of(graph, (0,)),)
    candidate = Candidate(0, ((x, PADDED), (y, PADDED)))
    needed = needed_conversions(graph, clusters, (candidate,), (x, y))
    assert needed == ((x, PLAIN, PADDED), (y, PADDED, PLAIN))
    costs = dict.fromkeys(needed, 1)
    selection = build_selection(graph, clusters, {candidate: 1}, costs, (x, y))
    assert solve(selection.problem).status is Status.OPTIMAL
