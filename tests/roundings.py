"""Numbers that are easily rounded wrong."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def special_numbers() -> npt.NDArray[np.float32]:
    """Ties, numbers around 2^22, 2^23 and 2^24, both zeros, the smallest, and none at all."""
    near = [2.0**e + step for e in (22, 23, 24) for step in (-1.5, -0.5, 0.0, 0.5, 1.5)]
    small = [0.0, 0.25, 0.5, 0.75, 1e-45, 0.49999997, 1e30, np.inf, np.nan]
    found = np.asarray([*np.arange(0, 100) / 4, *near, *small], np.float32)
    return np.concatenate([found, -found])
