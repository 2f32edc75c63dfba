"""How much memory the weights of a function take."""

from __future__ import annotations

from layoutopt.ir.graph import Constant, Graph


def weight_bytes(graph: Graph) -> int:
    """Bytes of the constants that a function reads, splats left out."""
    return sum(
        graph.types[op.result].size_bytes
        for op in graph.ops
        if isinstance(op, Constant) and op.splat is None and graph.consumers[op.result]
    )
