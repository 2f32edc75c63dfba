"""Which conversions a plan may need."""

from __future__ import annotations

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import needed_conversions
from layoutopt.candidates.cluster import cluster_of
from layoutopt.candidates.conversion import Conversion
from layoutopt.ir.graph import GraphBuilder, Reshape
from layoutopt.ir.layout import Layout, row_major
from layoutopt.planning.selection import build_selection
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
    assert needed == (Conversion(x, PLAIN, PADDED), Conversion(y, PADDED, PLAIN))
    costs = dict.fromkeys(needed, 1)
    selection = build_selection(graph, clusters, {candidate: 1}, costs, (x, y))
    assert solve(selection.problem).status is Status.OPTIMAL
