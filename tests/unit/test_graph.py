"""What a graph keeps when it grows."""

from __future__ import annotations

import pytest

from layoutopt.graph import Fence, Graph
from layoutopt.types import TensorType
from tests.models import CONVOLUTIONS
from tests.parsing import lifted


@pytest.mark.parametrize("name", ["producers", "consumers", "constants"])
def test_a_longer_graph_knows_what_a_fresh_one_would(name: str) -> None:
    graph = lifted(CONVOLUTIONS)
    constant, last = min(graph.constants), len(graph.types)
    getattr(graph, name)

    kind = TensorType((4,), "f32")
    new = (Fence(graph.inputs[0], last), Fence(constant, last + 1), Fence(last + 1, last))
    grown = graph.extended((kind, kind), new, ("a", "b", "c"))

    fresh = Graph(grown.types, grown.ops, grown.inputs, grown.outputs)
    assert name in vars(grown)
    assert getattr(grown, name) == getattr(fresh, name)
    assert grown.names == (*(graph.name_of(i) for i in range(len(graph.ops))), "a", "b", "c")
