"""Numbers of all magnitudes, graphs of one function of one number, and what IREE makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.types import Array
from layoutopt.mlir.write.emit import function_text
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model


def everywhere() -> npt.NDArray[np.float32]:
    """From the smallest to the largest, close to each other up to 6, with both signs; no number."""
    large = np.concatenate([np.logspace(-44, 38, 500), [0.0, 3e38, np.inf, np.nan]])
    positive = np.concatenate([np.linspace(0, 6, 6_001), large]).astype(np.float32)
    return np.concatenate([positive, -positive])


def graph_of(name: str, shape: tuple[int, ...], element: str = "f32") -> Graph:
    """``f(x)`` by the name of its op."""
    builder = GraphBuilder()
    x, y = builder.tensor(shape, element), builder.tensor(shape, element)
    body = Body((element, element), (ScalarOp(name, (0,), element),), (2,))
    loops = (IteratorType.PARALLEL,) * len(shape)
    both = (identity_map(len(shape)),) * 2
    builder.add(Structured((x,), (Uninitialized(),), (y,), shape, loops, both, body))
    return builder.build((x,), (y,))


def canonical_with_iree(
    graph: Graph, numbers: Array, folder: Path, *flags: str
) -> tuple[str, Array]:
    """The canonical form of a graph as MLIR, and what IREE computes by it."""
    changed = canonical_form(graph).graph
    text = function_text(changed, changed.inputs, changed.outputs, "main")
    source, module = folder / "function.mlir", folder / "function.vmfb"
    source.write_text(text)
    outcome = compile_file(source, module, (*load_target("host").flags, *flags), 300.0)
    assert outcome.ok, outcome.reason
    (found,) = run_model(module, "main", [numbers])
    return text, found
