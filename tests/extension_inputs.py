"""Inputs of extensions: random, and positions where a kind takes them."""

from __future__ import annotations

import numpy as np

from layoutopt.ir.extension import Extension
from layoutopt.ir.types import Array, TensorType, integer_bits, numpy_dtype


def random_inputs(
    op: Extension, types: tuple[TensorType, ...], seed: int, scale: float = 1.0
) -> dict[int, Array]:
    """The sources of an op by tensor, floats of about this size."""
    positions = op.positions(types)
    found: dict[int, Array] = {}
    for tensor in op.inputs:
        kind = types[tensor]
        rng = np.random.default_rng(seed + tensor)
        dtype = np.dtype(numpy_dtype(kind.element))
        if tensor in positions:
            found[tensor] = rng.integers(0, positions[tensor], kind.shape).astype(dtype)
        elif integer_bits(kind.element):
            found[tensor] = rng.integers(-9, 10, kind.shape).astype(dtype)
        else:
            found[tensor] = (scale * rng.standard_normal(kind.shape)).astype(dtype)
    return found
