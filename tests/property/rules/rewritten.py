"""What a rewrite makes, as a graph that can be evaluated beside the one it was made from."""

from __future__ import annotations

from layoutopt.ir.graph import Graph, Op
from layoutopt.rules.rule import Expression


def rewritten(graph: Graph, number: int, found: Expression) -> Graph:
    """The expression in place of op ``number``, with the ops that make what it reads."""
    outputs = graph.ops[number].outputs
    needed = {t for new in found.ops for t in new.inputs}
    before: list[Op] = []
    for old in reversed(graph.ops):
        if needed & {*old.outputs} and not {*old.outputs} & {*outputs}:
            before.insert(0, old)
            needed.update(old.inputs)
    return Graph((*graph.types, *found.types), (*before, *found.ops), graph.inputs, outputs)
