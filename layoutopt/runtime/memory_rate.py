"""How fast this machine's cores read memory that no cache holds, and how much a cache holds."""

from __future__ import annotations

import math
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from layoutopt.runtime.filled_memory import filled_memory

Floats = npt.NDArray[np.float64]

_PASSES = 3
_MOST_READ = 1 << 27
"""Bytes of memory that are read to learn its rate: few caches hold as much, and it takes 10 ms."""
_SHARES = 8


def memory_gb_s(threads: int, size_bytes: int) -> float:
    """GB/s (1e9 bytes a second) of some threads together, each reading a share of so many bytes.

    Of the fastest of a few passes. ``size_bytes``: more than the last cache, which they share,
    holds.
    """
    block = filled_memory(size_bytes).view(np.int64)
    shares = np.array_split(block, threads)
    fastest_s = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_PASSES):
            started = time.perf_counter()
            list(pool.map(np.sum, shares))
            fastest_s = min(fastest_s, time.perf_counter() - started)
    return block.nbytes / fastest_s / 1e9


def cache_bytes_left(size_bytes: int, tries: int = 1) -> tuple[int, int]:
    """How much of the last cache, of so many bytes, this process has at least and at most.

    In eighths. On a shared machine others fill it as well, and what the system tells is the size of
    all of it. What is read again as fast as a small block is in it, what is read like memory is
    not. Tried several times, since what others leave comes and goes. All tries read one block: a
    system takes longer to find a gigabyte than to read it.
    """
    block = filled_memory(max(_MOST_READ, 2 * size_bytes))
    outside = _again_gb_s(block)
    found = [_left(block, size_bytes, outside) for _ in range(tries)]
    return min(found), max(found)


def _left(block: Floats, size_bytes: int, outside_gb_s: float) -> int:
    """How much of a cache this process has now."""
    share = size_bytes // _SHARES
    middle = math.sqrt(_again_gb_s(block[: share // 8]) * outside_gb_s)
    left = 1
    while left < _SHARES and _again_gb_s(block[: (left + 1) * share // 8]) > middle:
        left += 1
    return left * share


def _again_gb_s(block: Floats) -> float:
    """GB/s of reading a block again and again, in the median of the passes after the first."""
    block.max()
    passes = []
    for _ in range(2 * _PASSES + 1):
        started = time.perf_counter()
        block.max()
        passes.append(time.perf_counter() - started)
    return block.nbytes / statistics.median(passes) / 1e9
