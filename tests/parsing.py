"""MLIR text to graphs and back, for tests."""

from pathlib import Path

import iree.compiler.ir as ir

from layoutopt.ir.graph import Graph
from layoutopt.mlir.read.globals import constant_globals
from layoutopt.mlir.read.lift import lift
from layoutopt.mlir.write.emit import function_text

CONTEXT = ir.Context()  # one for all: making it takes longer than most tests


def verified(graph: Graph) -> str:
    """The graph as MLIR text that parses and verifies."""
    text = function_text(graph, graph.inputs, graph.outputs, "f")
    with CONTEXT:
        assert ir.Module.parse(text).operation.verify()
    return text


def lifted(text: str) -> Graph:
    """The graph of the last function of a module."""
    with CONTEXT:
        module = ir.Module.parse(text)
        found = lift(list(module.body.operations)[-1], constant_globals(module.operation))
        assert found is not None
        return found.graph


def module_text(path: Path) -> str:
    """A module of any dialect as text."""
    return str(ir.Module.parse(path.read_bytes(), CONTEXT))


def through_text(graph: Graph) -> Graph:
    """The graph written as MLIR and read again."""
    return lifted(verified(graph))
