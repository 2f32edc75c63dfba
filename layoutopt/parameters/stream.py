"""Copy between files larger than memory, in blocks that lie close together on both sides.

A transpose that is copied row by row reads a whole page for each element. Here a block is long
along the innermost dims of the source and of the target alike, so that few pages are touched for
what is copied, and its pages are let go before the next block starts.
"""

from __future__ import annotations

import itertools
import math
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from layoutopt.types import Array

BLOCK_BYTES = 16 << 20
"""Of a tensor that are copied at a time; memory for both sides is a small multiple of it."""

_LET_GO = getattr(mmap, "MADV_DONTNEED", None)
"""None where the system cannot be told; there it decides by itself which pages it keeps."""


class MappedFile:
    """A file as an array of bytes whose pages need not stay in memory."""

    def __init__(self, descriptor: int, size_bytes: int, writable: bool) -> None:
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        self._map = mmap.mmap(descriptor, size_bytes, access=access) if size_bytes else None
        self.bytes: Array = np.frombuffer(self._map or b"", np.uint8)

    def let_go(self) -> None:
        """Give the pages back; what was written stays with the file."""
        if self._map is not None and _LET_GO is not None:
            self._map.madvise(_LET_GO)


def open_mapped(path: Path) -> MappedFile:
    """A file to read."""
    with path.open("rb") as file:
        return MappedFile(file.fileno(), os.fstat(file.fileno()).st_size, writable=False)


def reserve(descriptor: int, size_bytes: int) -> None:
    """Make a file that long, with room on the disk; OSError where there is none."""
    if size_bytes and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size_bytes)
    os.truncate(descriptor, size_bytes)


def temporary(folder: Path, size_bytes: int) -> MappedFile:
    """A file without a name that is gone when nobody uses it any more."""
    with tempfile.TemporaryFile(dir=folder) as file:
        reserve(file.fileno(), size_bytes)
        return MappedFile(file.fileno(), size_bytes, writable=True)


def copy_blocks(source: Array, target: Array, between: Callable[[], None]) -> None:
    """Copy one strided view to another of the same shape and type, block by block.

    ``between`` is called after each block: there, pages may be let go.
    """
    limit = max(1, BLOCK_BYTES // max(1, target.itemsize))
    sizes = block_sizes(target.shape, (source.strides, target.strides), limit)
    for index in _blocks(target.shape, sizes):
        target[index] = source[index]
        between()


def block_sizes(
    shape: Sequence[int], strides: Sequence[Sequence[int]], limit: int
) -> tuple[int, ...]:
    """The sizes of a block of at most ``limit`` elements, or of one element.

    First every array in ``strides`` gets its equal share of innermost elements, then the last
    one's order says how the block grows.
    """
    sizes = [min(1, n) for n in shape]
    share = max(1, round(limit ** (1 / len(strides))))

    def grow(order: Sequence[int], most: int) -> None:
        reached = 1
        for d in order:
            room = min(limit // max(1, math.prod(sizes) // max(1, sizes[d])), shape[d])
            sizes[d] = max(sizes[d], min(room, -(-most // reached)))
            reached *= max(1, sizes[d])
            if sizes[d] < shape[d] or reached >= most:
                return

    orders = [sorted(range(len(shape)), key=lambda d: (abs(s[d]), -d)) for s in strides]
    for order in orders:
        grow(order, share)
    grow(orders[-1], limit)
    return tuple(sizes)


def _blocks(shape: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    if 0 in shape:
        return
    starts = (range(0, n, size) for n, size in zip(shape, sizes, strict=True))
    for corner in itertools.product(*starts):
        yield tuple(slice(at, at + size) for at, size in zip(corner, sizes, strict=True))
