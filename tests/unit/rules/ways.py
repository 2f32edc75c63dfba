"""All ways through a saturated graph, held against the graph they came from."""

from __future__ import annotations

import numpy as np

from layoutopt.egraph import EGraph, saturate
from layoutopt.graph import Constant, Graph, Op
from layoutopt.oracle import evaluate
from tests.parsing import verified
from tests.property.layouts import small_integers


def rules_that_fired(egraph: EGraph) -> set[str]:
    return {name for names in egraph.rule for name in names}


def assert_all_ways_agree(graph: Graph) -> EGraph:
    """Every producer of every tensor, each in a graph of its own, computes the same outputs."""
    egraph = saturate(graph)
    leaves = [*graph.inputs, *(o.result for o in graph.ops if isinstance(o, Constant))]
    values = {t: small_integers(graph.types[t], t) for t in leaves}
    values |= {
        o.result: np.full_like(values[o.result], float(o.splat.split(":")[0]))
        for o in graph.ops
        if isinstance(o, Constant) and o.splat is not None
    }
    wanted = evaluate(graph, values)
    for index in range(egraph.original_ops, len(egraph.graph.ops)):
        way = _way(egraph.graph, index)
        if way is None:
            continue
        verified(Graph(way.types, way.ops, tuple(leaves), way.outputs))
        found = evaluate(way, values)
        for tensor in graph.outputs:
            # small integers: exact but for Winograd's transforms, which round
            assert np.allclose(found[tensor], wanted[tensor], rtol=1e-6, atol=1e-4)
    return egraph


def _way(graph: Graph, wanted: int) -> Graph | None:
    """The outputs through one chosen op where it is reached, the newest producers elsewhere."""
    ops: list[Op] = []
    done: set[int] = set()
    used: set[int] = set()

    def make(tensor: int, open_tensors: frozenset[int]) -> bool:
        if tensor in done or tensor in graph.inputs:
            return True
        makers = sorted(graph.producers[tensor], key=lambda i: (i != wanted, -i))
        for index in makers:
            op = graph.ops[index]
            if isinstance(op, Constant):
                done.add(tensor)
                return True
            if any(t in open_tensors or t == tensor for t in op.inputs):
                continue
            if all(make(t, open_tensors | {tensor}) for t in op.inputs):
                ops.append(op)
                used.add(index)
                done.update(op.outputs)
                return True
        return False

    if not all(make(t, frozenset()) for t in graph.outputs) or wanted not in used:
        return None
    return Graph(graph.types, tuple(ops), graph.inputs, graph.outputs)
