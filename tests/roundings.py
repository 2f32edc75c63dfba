"""Numbers that are easily rounded wrong, and a graph that rounds them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp


def special_numbers() -> npt.NDArray[np.float32]:
    """Ties, numbers around 2^22, 2^23 and 2^24, both zeros, the smallest, and none at all."""
    near = [2.0**e + step for e in (22, 23, 24) for step in (-1.5, -0.5, 0.0, 0.5, 1.5)]
    small = [0.0, 0.25, 0.5, 0.75, 1e-45, 0.49999997, 1e30, np.inf, np.nan]
    found = np.asarray([*np.arange(0, 100) / 4, *near, *small], np.float32)
    return np.concatenate([found, -found])


def graph_that_rounds(shape: tuple[int, ...]) -> Graph:
    """``roundeven(x)`` of f32."""
    builder = GraphBuilder()
    x, y = builder.tensor(shape, "f32"), builder.tensor(shape, "f32")
    body = Body(("f32", "f32"), (ScalarOp("math.roundeven", (0,), "f32"),), (2,))
    loops = (IteratorType.PARALLEL,) * len(shape)
    both = (identity_map(len(shape)),) * 2
    builder.add(Structured((x,), (Uninitialized(),), (y,), shape, loops, both, body))
    return builder.build((x,), (y,))
