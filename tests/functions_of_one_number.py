"""Numbers of all magnitudes, and graphs of one function of one number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp


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
