"""What a graph keeps when it grows."""

from __future__ import annotations

import pytest

from layoutopt.ir.graph import Constant, FusionBarrier, Graph, GraphBuilder, Reshape
from layoutopt.ir.types import TensorType
from tests.models import CONVOLUTIONS
from tests.parsing import lifted


@pytest.mark.parametrize("name", ["producers", "consumers", "constants"])
def test_a_longer_graph_knows_what_a_fresh_one_would(name: str) -> None:
    graph = lifted(CONVOLUTIONS)
    constant, last = min(graph.constants), len(graph.types)
    getattr(graph, name)

    kind = TensorType((4,), "f32")
    new = (
        FusionBarrier(graph.inputs[0], last),
        FusionBarrier(constant, last + 1),
        FusionBarrier(last + 1, last),
    )
    grown = graph.extended((kind, kind), new, ("a", "b", "c"))

    fresh = Graph(grown.types, grown.ops, grown.inputs, grown.outputs)
    assert name in vars(grown)
    assert getattr(grown, name) == getattr(fresh, name)
    assert grown.names == (*(graph.name_of(i) for i in range(len(graph.ops))), "a", "b", "c")


def test_another_way_that_reads_constants_alone_makes_no_tensor_a_constant() -> None:
    g = GraphBuilder()
    x, weight, y = (g.tensor((4,), "f32") for _ in range(3))
    g.add(Constant(weight))
    g.add(Reshape(x, y))
    graph = g.build((x,), (y,))
    assert graph.constants == {weight}
    grown = graph.extended((), (Reshape(weight, y),))
    fresh = Graph(grown.types, grown.ops, grown.inputs, grown.outputs)
    assert grown.constants == fresh.constants == {weight}
