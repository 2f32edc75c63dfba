"""How fast this machine's cores read memory that no cache holds, and how much a cache holds."""

from __future__ import annotations

import math
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_PASSES = 3
_MOST_READ = 1 << 27
"""Bytes of memory that are read to learn its rate: few caches hold as much, and it takes 10 ms."""
_SHARES = 8


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


def cache_bytes_left(size_bytes: int) -> int:
    """How much of the last cache, of so many bytes, this process has; in eighths.

    On a shared machine others fill it as well, and what the system tells is the size of all of it.
    What is read again as fast as a small block is in it, what is read like memory is not.
    """
    share = size_bytes // _SHARES
    inside = _again_gb_s(share)
    outside = _again_gb_s(max(_MOST_READ, 2 * size_bytes))
    middle = math.sqrt(inside * outside)
    left = 1
    while left < _SHARES and _again_gb_s((left + 1) * share) > middle:
        left += 1
    return left * share


def _again_gb_s(size_bytes: int) -> float:
    """GB/s of reading a block again and again, in the median of the passes after the first."""
    block = np.ones(max(1, size_bytes // 8))
    block.max()
    passes = []
    for _ in range(2 * _PASSES + 1):
        started = time.perf_counter()
        block.max()
        passes.append(time.perf_counter() - started)
    return size_bytes / statistics.median(passes) / 1e9
