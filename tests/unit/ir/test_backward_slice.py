"""What a tensor is computed from."""

from __future__ import annotations

from layoutopt.ir.backward_slice import ancestry
from layoutopt.ir.graph import Constant, Fence, Graph
from layoutopt.ir.types import TensorType

KIND = TensorType((4,), "f32")


def test_only_what_the_tensor_needs_in_order() -> None:
    first, other = Constant(0, "a"), Constant(1, "b")
    ops = (first, Fence(0, 2), other, Fence(1, 3), Fence(2, 4), Fence(4, 5))
    graph = Graph((KIND,) * 6, ops, (), (5,))
    assert ancestry(graph, 4) == ((ops[1], ops[4]), (0,))


def test_of_several_ways_those_before_their_reader() -> None:
    ops = (Constant(0, "a"), Fence(0, 1), Fence(1, 2), Constant(3, "b"), Fence(3, 1))
    graph = Graph((KIND,) * 4, ops, (), (2,))
    assert ancestry(graph, 2) == ((ops[1], ops[2]), (0,))
    assert ancestry(graph, 1) == ((ops[1], ops[4]), (0, 3))
