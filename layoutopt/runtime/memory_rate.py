"""How fast this machine's cores read memory that no cache holds."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_PASSES = 3


def memory_gb_s(threads: int, size_bytes: int) -> float:
    """GB/s (1e9 bytes a second) of some threads together, each reading so many bytes of its own.

    Of the fastest of a few passes. ``size_bytes``: more than the last cache holds.
    """
    blocks = [np.ones(size_bytes // 8, np.int64) for _ in range(threads)]
    fastest_s = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_PASSES):
            started = time.perf_counter()
            list(pool.map(np.sum, blocks))
            fastest_s = min(fastest_s, time.perf_counter() - started)
    return threads * size_bytes / fastest_s / 1e9
