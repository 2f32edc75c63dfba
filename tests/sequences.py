"""What recurrent nodes of ONNX compute of each sequence of a batch by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from layoutopt.ir.types import Array

FIRST_STATE = 5
"""The operand; from it on they are of each sequence."""


def alone(model: onnx.ModelProto, x: Array, lengths: Array, batch_first: bool) -> list[Array]:
    """The results of a model of one recurrent node, each sequence cut to its own length.

    The node has no lengths itself; its last state, and steps behind the end, are zero where a
    sequence has none.
    """
    (node,) = model.graph.node
    states = set(node.input[FIRST_STATE:7])
    every: list[Any] = [
        run_one(model, x, sequence, max(int(length), 1), states, batch_first)
        for sequence, length in enumerate(lengths)
    ]
    time = x.shape[1 if batch_first else 0]
    results = []
    for position in range(len(node.output)):
        axis = 0 if batch_first else (2 if position == 0 else 1)
        parts = []
        for one, length in zip(every, lengths, strict=True):
            part = one[position] * (length > 0)
            if position == 0:
                missing = [(0, 0)] * part.ndim
                along = 1 if batch_first else 0
                missing[along] = (0, time - part.shape[along])
                part = np.pad(part, missing)
            parts.append(part)
        results.append(np.concatenate(parts, axis))
    return results


def run_one(
    model: onnx.ModelProto,
    x: Array,
    sequence: int,
    length: int,
    states: set[str],
    batch_first: bool,
) -> list[Any]:
    """The results for one sequence, with its own first states."""
    one = onnx.ModelProto()
    one.CopyFrom(model)
    for tensor in one.graph.initializer:
        if tensor.name in states:
            value = numpy_helper.to_array(tensor)
            own = np.take(value, [sequence], 0 if batch_first else 1)
            tensor.CopyFrom(numpy_helper.from_array(own, tensor.name))
    cut = x[sequence : sequence + 1, :length] if batch_first else x[:length, sequence, None]
    del one.graph.input[0].type.tensor_type.shape.dim[:]
    one.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", 1, cut.shape))
    return list(ReferenceEvaluator(one).run(None, {"x": cut}))
