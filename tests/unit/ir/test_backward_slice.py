"""What a tensor is computed from."""

from __future__ import annotations

from layoutopt.ir.backward_slice import backward_slice
from layoutopt.ir.graph import Constant, FusionBarrier, Graph
from layoutopt.ir.types import TensorType

KIND = TensorType((4,), "f32")


def test_only_what_the_tensor_needs_in_order() -> None:
    first, other = Constant(0, "a"), Constant(1, "b")
    ops = (
        first,
        FusionBarrier(0, 2),
        other,
        FusionBarrier(1, 3),
        FusionBarrier(2, 4),
        FusionBarrier(4, 5),
    )
    graph = Graph((KIND,) * 6, ops, (), (5,))
    assert backward_slice(graph, 4) == ((ops[1], ops[4]), (0,))


def test_of_several_ways_the_first_counts() -> None:
    ops = (
        Constant(0, "a"),
        FusionBarrier(0, 1),
        FusionBarrier(1, 2),
        Constant(3, "b"),
        FusionBarrier(3, 1),
    )
    graph = Graph((KIND,) * 4, ops, (), (2,))
    assert backward_slice(graph, 2) == ((ops[1], ops[2]), (0,))
    assert backward_slice(graph, 1) == ((ops[1],), (0,))
