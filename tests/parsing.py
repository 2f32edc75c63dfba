"""MLIR text to graphs and back, for tests."""

from collections.abc import Sequence

import iree.compiler.ir as ir

from layoutopt.graph import Graph
from layoutopt.mlir.emit import function_text
from layoutopt.mlir.lift import lift

CONTEXT = ir.Context()  # one for all: making it takes longer than most tests


def verified(graph: Graph) -> str:
    """The graph as MLIR text that parses and verifies."""
    text = function_text(graph, graph.inputs, graph.outputs, "f")
    with CONTEXT:
        assert ir.Module.parse(text).operation.verify()
    return text


def lifted(text: str, immutable: Sequence[str] = ()) -> Graph:
    """The graph of the last function of a module."""
    with CONTEXT:
        module = ir.Module.parse(text)
        found = lift(list(module.body.operations)[-1], frozenset(immutable))
        assert found is not None
        return found.graph


def through_text(graph: Graph) -> Graph:
    """The graph written as MLIR and read again."""
    return lifted(verified(graph))
