"""All ops of a saturated graph, compared with the graph they came from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.saturation import saturate
from layoutopt.ir.graph import Constant, Graph, Op
from layoutopt.ir.renaming import renumbered
from layoutopt.ir.types import Array, TensorType
from layoutopt.oracle.evaluate import evaluate_op
from tests.parsing import verified
from tests.property.layouts import small_integers


def rules_that_fired(egraph: EGraph) -> set[str]:
    return {name for names in egraph.rule for name in names}


def assert_all_ways_agree(graph: Graph) -> EGraph:
    """Every producer of every tensor makes the same numbers, and is MLIR."""
    egraph = saturate(graph)
    leaves = [*graph.inputs, *(o.result for o in graph.ops if isinstance(o, Constant))]
    values = {t: small_integers(graph.types[t], t) for t in leaves}
    values |= {
        o.result: np.full_like(values[o.result], float(o.splat.split(":")[0]))
        for o in graph.ops
        if isinstance(o, Constant) and o.splat is not None
    }
    assert_every_op_agrees(egraph.graph, values)
    verified(_each_its_own(egraph.graph, tuple(leaves)))
    return egraph


def assert_every_op_agrees(graph: Graph, values: Mapping[int, Array]) -> None:
    """Each op makes what the first producer of its results made of the same inputs."""
    known = dict(values)
    for op in graph.ops:
        if isinstance(op, Constant):
            continue
        for tensor, array in zip(op.outputs, evaluate_op(op, graph.types, known), strict=True):
            wanted = known.setdefault(tensor, array)
            assert array.shape == wanted.shape == graph.types[tensor].shape
            assert array.dtype == wanted.dtype
            # small integers: exact but for Winograd's transforms, which round
            assert np.allclose(array, wanted, rtol=1e-6, atol=1e-3, equal_nan=True)


def _each_its_own(graph: Graph, leaves: tuple[int, ...]) -> Graph:
    """The graph where no two ops make one tensor, so that it is one function."""
    types: list[TensorType] = list(graph.types)
    ops: list[Op] = []
    made: set[int] = set()
    for op in graph.ops:
        if isinstance(op, Constant):
            continue
        number = {t: t for t in op.inputs}
        for tensor in op.outputs:
            number[tensor] = tensor
            if tensor in made:
                number[tensor] = len(types)
                types.append(graph.types[tensor])
        made.update(op.outputs)
        ops.append(renumbered(op, number))
    return Graph(tuple(types), tuple(ops), leaves, graph.outputs)
