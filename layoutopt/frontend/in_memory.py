"""Models that are no files: MLIR text, modules of the compiler's bindings, graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from layoutopt.errors import InputError
from layoutopt.ir.graph import Constant, Graph
from layoutopt.mlir.write.emit import function_text


@runtime_checkable
class InMemory(Protocol):
    """An ``iree.compiler.ir.Module``, or whatever holds an operation as one does."""

    @property
    def operation(self) -> Any:
        """The module as an operation."""


def written_down(model: Path | str | Graph | InMemory, folder: Path) -> Path:
    """The path of a model; of one that is no file, a file in ``folder``.

    A string of several lines is MLIR text. Raises InputError for a graph that holds weights.
    """
    if isinstance(model, Path):
        return model
    if isinstance(model, str):
        if "\n" not in model:
            return Path(model)
        path = folder / "model.mlir"
        path.write_text(model, encoding="utf-8")
        return path
    if isinstance(model, Graph):
        path = folder / "graph.mlir"
        path.write_text(_text(model), encoding="utf-8")
        return path
    path = folder / "module.mlirbc"
    with path.open("wb") as file:
        model.operation.write_bytecode(file)
    return path


def _text(graph: Graph) -> str:
    """A module with the graph as its function ``main``; splats are written, other weights not."""
    weights = [op for op in graph.ops if isinstance(op, Constant) and op.splat is None]
    if weights:
        raise InputError(
            "graph",
            "inputs and splat constants only, since a graph holds no values",
            f"{len(weights)} weights",
            "make them inputs, or give a module",
        )
    splats = [
        f"  %t{op.result} = arith.constant dense<{op.splat}> : {graph.types[op.result]}\n"
        for op in graph.ops
        if isinstance(op, Constant)
    ]
    head, body = function_text(graph, graph.inputs, graph.outputs, "main").split("\n", 1)
    return f"{head}\n{''.join(splats)}{body}"
