"""How fast this machine's cores read memory that no cache holds, and how much a cache holds."""

from __future__ import annotations

import math
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from layoutopt.runtime.filled_memory import filled_memory

Floats = npt.NDArray[np.float64]

_PASSES = 3
_MOST_READ = 1 << 27
"""Bytes of memory that are read to learn its rate: few caches hold as much, and it takes 10 ms."""
_SHARES = 8
_PAUSES_S = (0.0003, 0.0006, 0.00125, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
"""Between two uses of what a cache holds: runs of models that fit there take no longer. On a server
whose other cores were busy, half of what was found there was gone after 1 ms."""
_OWN_BYTES = 4 << 20
"""Of other memory that this core reads meanwhile: few have as much cache of their own, and it is
much less than the last one holds."""
_KEPT_PASSES = 3
_KEPT_TRIES = 3


@dataclass(frozen=True, slots=True)
class CacheLeft:
    """What others leave of a cache."""

    usual_bytes: int
    most_bytes: int
    kept_s: float | None
    """How long they leave there what is not used; None for longer than was tried."""


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


def cache_left(size_bytes: int, tries: int = 1) -> CacheLeft:
    """How much of the last cache, of so many bytes, this process has, and for how long.

    In eighths. On a shared machine others fill it as well, and what the system tells is the size of
    all of it. What is read again as fast as a small block is in it, what is read like memory is
    not. Tried several times, since what others leave comes and goes. All tries read one block: a
    system takes longer to find a gigabyte than to read it.
    """
    block = filled_memory(max(_MOST_READ, 2 * size_bytes))
    outside = _again_gb_s(block)
    found = [_left(block, size_bytes, outside) for _ in range(tries)]
    usual = statistics.median_low(found)
    kept, other = block[: usual // 16], block[-_OWN_BYTES // 8 :]
    kept_s = statistics.median(_kept_s(kept, other, outside) for _ in range(_KEPT_TRIES))
    return CacheLeft(usual, max(found), kept_s if math.isfinite(kept_s) else None)


def _left(block: Floats, size_bytes: int, outside_gb_s: float) -> int:
    """How much of a cache this process has now."""
    share = size_bytes // _SHARES
    middle = math.sqrt(_again_gb_s(block[: share // 8]) * outside_gb_s)
    left = 1
    while left < _SHARES and _again_gb_s(block[: (left + 1) * share // 8]) > middle:
        left += 1
    return left * share


def _kept_s(block: Floats, other: Floats, outside_gb_s: float) -> float:
    """The longest pause after which a block that fits is not read like memory; infinite for all.

    In a pause this core reads other memory again and again, as it does between two uses of a
    weight: what comes from the last cache drives out of it what was not used for long.
    """
    middle = math.sqrt(_again_gb_s(block) * outside_gb_s)
    kept_s = 0.0
    for pause_s in _PAUSES_S:
        passes = []
        for _ in range(_KEPT_PASSES):
            block.max()
            pause_ends = time.perf_counter() + pause_s
            while time.perf_counter() < pause_ends:
                other.max()
            passes.append(_gb_s(block))
        if statistics.median(passes) <= middle:
            return kept_s
        kept_s = pause_s
    return math.inf


def _again_gb_s(block: Floats) -> float:
    """GB/s of reading a block again and again, in the median of the passes after the first."""
    block.max()
    return statistics.median(_gb_s(block) for _ in range(2 * _PASSES + 1))


def _gb_s(block: Floats) -> float:
    """GB/s of reading a block once."""
    started = time.perf_counter()
    block.max()
    return block.nbytes / (time.perf_counter() - started) / 1e9
