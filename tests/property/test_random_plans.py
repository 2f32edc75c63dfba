"""Everything that a random graph could be planned as computes what the graph computes."""

from __future__ import annotations

from random import Random

import pytest

from layoutopt.ir.graph import Graph, Opaque, Structured
from tests.property.random_graphs import random_graph
from tests.property.random_plans import check_graph

_EACH = 20


@pytest.mark.parametrize("first", range(0, 100, _EACH))
def test_candidates_conversions_and_plans_are_right(first: int) -> None:
    """The same seeds every time: ``random_graph(Random(seed))`` makes the graph of a failure."""
    planned = 0
    for seed in range(first, first + _EACH):
        random = Random(seed)
        graph = random_graph(random)
        try:
            planned += check_graph(graph, random) is not None
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    assert planned > _EACH // 2


def _reads_a_diagonal(graph: Graph) -> bool:
    maps = [m for op in graph.ops if isinstance(op, Structured) for m in op.maps]
    return any(len({*forms}) < len(forms) for m in maps if (forms := [f for f in m if f.dims]))


def test_random_graphs_hold_what_is_rare() -> None:
    graphs = [random_graph(Random(seed)) for seed in range(100)]
    structured = [op for g in graphs for op in g.ops if isinstance(op, Structured)]
    assert any(_reads_a_diagonal(g) for g in graphs)
    assert any(len(op.results) == 2 for op in structured)
    assert any(not op.domain for op in structured)
    assert any(1 in op.domain for op in structured)
    assert any(isinstance(op, Opaque) for g in graphs for op in g.ops)
    assert any(set(g.inputs) & set(g.outputs) for g in graphs)
