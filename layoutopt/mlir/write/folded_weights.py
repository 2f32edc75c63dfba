"""Weights that a plan holds in another form, computed while the module is written.

IREE would compute them when it compiles the module, by kernels that it has to compile for that:
half of its time on ResNet-50. What the oracle computes of them is at least as exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from iree.compiler import ir

from layoutopt.ir.types import Array
from layoutopt.mlir.read.attribute import value_of
from layoutopt.mlir.write.weight_initializers import Initializer
from layoutopt.oracle import OracleError, evaluate

_READABLE = frozenset({"f16", "f32", "f64", "i8", "i16", "i32", "i64"})
"""Element types whose attributes the bindings hand out as arrays, and take."""
_MOST_GROWTH = 8
"""Bytes of a weight for each byte that it is computed from, at most: Winograd's F(6, 3) has 7.1.
What grows more is better computed where it is loaded than kept."""


def folded_weights(weights: Initializer, values: Mapping[int, Any]) -> dict[int, Any] | None:
    """The attributes of weights that are computed together, by tensor of the planned graph.

    ``values``: those of the model's tensors. None where the module has to compute them itself: from
    what it does not hold as numbers, in types that arrays do not have, or by ops that the oracle
    does not know.
    """
    graph = weights.graph
    made = [tensor for tensor, _ in weights.outputs]
    if any(graph.types[t].element not in _READABLE for t in (*weights.inputs.values(), *made)):
        return None
    arrays: dict[int, Array] = {}
    for tensor, own in weights.inputs.items():
        array = _numbers(values[tensor].owner)
        if array is None:
            return None
        arrays[own] = array
    read_bytes = sum(array.nbytes for array in arrays.values())
    if sum(graph.types[t].size_bytes for t in made) > _MOST_GROWTH * read_bytes:
        return None
    try:
        found = evaluate(graph, arrays)
    except OracleError:
        return None
    return {
        planned: ir.DenseElementsAttr.get(np.ascontiguousarray(found[tensor]))
        for tensor, planned in weights.outputs
    }


def _numbers(owner: Any) -> Array | None:
    """The elements of a constant; None where the module does not hold them."""
    if owner.name != "arith.constant":
        return None
    value = value_of(owner.attributes, "value")
    if not isinstance(value, ir.DenseFPElementsAttr | ir.DenseIntElementsAttr):
        return None
    array: Array = np.array(value)
    return array
