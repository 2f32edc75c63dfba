"""Plans that change nothing, put back in place of the ops that they were lifted from."""

from __future__ import annotations

from pathlib import Path

from layoutopt.ir.graph import Constant, Graph, Opaque
from layoutopt.ir.lowered import Lowered
from layoutopt.mlir.module import Module, parse_module


def unchanged(graph: Graph) -> Lowered:
    """The plan that writes every op as it came."""
    ops = tuple(op for op in graph.ops if not isinstance(op, Constant | Opaque))
    leaves = [*graph.inputs, *(op.result for op in graph.ops if isinstance(op, Constant))]
    given = dict(zip(leaves, leaves, strict=True))
    made = dict(zip(graph.outputs, graph.outputs, strict=True))
    return Lowered(Graph(graph.types, ops, tuple(given), tuple(made)), given, made, ())


def spliced(folder: Path, text: str) -> Module:
    """The module with every function written anew."""
    path = folder / "model.mlir"
    path.write_text(text, encoding="utf-8")
    module = parse_module(path)
    module.replace_all({place: unchanged(graph) for place, graph in enumerate(module.graphs)})
    assert module.operation.verify()
    return module
