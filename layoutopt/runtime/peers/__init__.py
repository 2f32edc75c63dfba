"""Other runtimes that `layoutopt bench` times: one file each, named as on the command line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutopt.ir.types import Array


def random_values(
    shape: Sequence[int], dtype: np.dtype[np.generic], rng: np.random.Generator
) -> Array:  # fmt: skip
    """Random values of the type that a model takes.

    Integers may be positions in some table, such as token ids: zeros and ones exist in any.
    """
    if dtype.kind in "iub":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)
