"""What is written parses, also where there is nothing to move."""

from __future__ import annotations

import numpy as np

from layoutopt.ir.graph import (
    GraphBuilder,
    Insert,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import copy_body
from layoutopt.oracle import evaluate
from tests.parsing import through_text


def test_ops_on_tensors_without_dims() -> None:
    g = GraphBuilder()
    tensors = [g.tensor((), "f32") for _ in range(6)]
    wide = g.tensor((1, 1), "f32")
    g.add(Pad(tensors[0], tensors[1], (), (), "7.0 : f32"))
    g.add(Slice(tensors[1], tensors[2], (), ()))
    g.add(Insert(tensors[2], tensors[0], tensors[3], (), ()))
    init, nowhere = (Uninitialized(),), ((), ())
    g.add(Structured((tensors[3],), init, (tensors[4],), (), (), nowhere, copy_body("f32")))
    g.add(Reshape(tensors[4], wide))
    g.add(Reshape(wide, tensors[5]))
    graph = g.build((tensors[0],), (tensors[5],))
    value = np.float32(3)
    again = through_text(graph)
    for one in (graph, again):
        found = evaluate(one, {one.inputs[0]: np.asarray(value)})[one.outputs[0]]
        assert found == value
        assert found.shape == ()
