"""Copy between files larger than memory, in blocks that lie close together on both sides.

A transpose that is copied row by row reads a whole page for each element. Here a block is long
along the innermost dims of both the source and the target, so that what is read and written
at a time are long runs of bytes.

Files are NumPy arrays, so that NumPy does the arithmetic of transposes and slices; but only the
addresses are used. Reads and writes go by offset: of a mapped file the system may count 2 MiB for
each run that is touched to the memory of the process.
"""

from __future__ import annotations

import itertools
import math
import mmap
import operator
import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import EllipsisType

import numpy as np

from layoutopt.errors import InputError
from layoutopt.ir.types import Array

BLOCK_BYTES = 16 << 20
"""Of a tensor that are copied at a time; memory is a small multiple of it."""

_GAP = 4
"""Bytes read for each byte that is needed, at most, before a run is split."""
_PAGE = 4096
"""A run shorter than that is never split."""


class ByteFile:
    """A file as an array of bytes: a view of ``bytes`` says which ones to read or write."""

    def __init__(self, name: str, descriptor: int, size_bytes: int, writable: bool = False) -> None:
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        mapped = mmap.mmap(descriptor, size_bytes, access=access) if size_bytes else b""
        self.bytes: Array = np.frombuffer(mapped, np.uint8)
        self._name = name
        self._descriptor = os.dup(descriptor)
        weakref.finalize(self, os.close, self._descriptor)

    def holds(self, view: Array) -> bool:
        """Whether an array is a view of this file."""
        return 0 <= self._offset(view) < self.bytes.size

    def read(self, view: Array) -> Array:
        """The elements of a view, in memory. Raises InputError where the file was cut off."""
        loops = _outer_loops(view, _GAP, _PAGE)
        inner = [d for d in range(view.ndim) if d not in loops]
        made = np.empty(view.shape, view.dtype)
        by_run = made.transpose(*loops, *inner)
        shape, strides = [view.shape[d] for d in inner], [view.strides[d] for d in inner]
        low, high = _span(shape, strides)
        for point, at in _starts(view, loops, self._offset(view) + low):
            run = os.pread(self._descriptor, high - low + view.itemsize, at)
            if len(run) != high - low + view.itemsize:
                raise InputError(self._name, "its length to stay", "a shorter file", "restore it")
            by_run[point] = np.ndarray(shape, view.dtype, run, -low, strides)
        return made

    def write(self, view: Array, values: Array) -> None:
        """Write the elements of a view."""
        loops = _outer_loops(view, 1, 0)
        inner = [d for d in range(view.ndim) if d not in loops]
        inner.sort(key=lambda d: -view.strides[d])
        runs = memoryview(values.transpose(*loops, *inner).tobytes())
        size = view.itemsize * math.prod(view.shape[d] for d in inner)
        for number, (_, at) in enumerate(_starts(view, loops, self._offset(view))):
            self._write_run(runs[number * size : (number + 1) * size], at)

    def _write_run(self, run: memoryview, at: int) -> None:
        while run:
            written = os.pwrite(self._descriptor, run, at)
            run, at = run[written:], at + written

    def _offset(self, view: Array) -> int:
        return int(view.__array_interface__["data"][0] - self.bytes.__array_interface__["data"][0])


def open_file(path: Path) -> ByteFile:
    """A file to read."""
    with path.open("rb") as file:
        return ByteFile(str(path), file.fileno(), os.fstat(file.fileno()).st_size)


def reserve(descriptor: int, size_bytes: int) -> None:
    """Make a file that long, with room on the disk; OSError where there is none."""
    if size_bytes and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size_bytes)
    os.truncate(descriptor, size_bytes)


def temporary_file(folder: Path, size_bytes: int) -> ByteFile:
    """A file without a name that is removed once it is closed."""
    with tempfile.TemporaryFile(dir=folder) as file:
        reserve(file.fileno(), size_bytes)
        return ByteFile("temporary file", file.fileno(), size_bytes, writable=True)


def copy_blocks(source: Array, target: Array, files: Sequence[ByteFile]) -> None:
    """Copy one view to another of the same shape and type, block by block.

    ``target`` is a view of one of ``files``, ``source`` of one of them or of memory.
    """
    assert source.shape == target.shape, (source.shape, target.shape)
    reader = next((f for f in files if f.holds(source)), None)
    writer = next(f for f in files if f.holds(target)) if target.size else None
    if writer is None:
        return
    limit = max(1, BLOCK_BYTES // target.itemsize)
    for index in _blocks(target.shape, block_sizes(target.shape, source, target, limit)):
        block = source[index]
        writer.write(target[index], block if reader is None else reader.read(block))


def block_sizes(shape: Sequence[int], source: Array, target: Array, limit: int) -> tuple[int, ...]:
    """The sizes of a block of at most ``limit`` elements.

    Both sides get an equal share of their innermost elements, then the block grows as the target
    lies.
    """
    sizes = [1] * len(shape)

    def grow(array: Array, most: int) -> None:
        reached = 1
        for d in sorted(range(len(shape)), key=lambda d: (abs(array.strides[d]), -d)):
            room = limit // (math.prod(sizes) // sizes[d])
            sizes[d] = max(sizes[d], min(room, shape[d], -(-most // reached)))
            reached *= sizes[d]
            if sizes[d] < shape[d] or reached >= most:
                return

    share = math.isqrt(limit)
    grow(source, share)
    grow(target, share)
    grow(target, limit)
    return tuple(sizes)


def _blocks(
    shape: Sequence[int], sizes: Sequence[int]
) -> Iterator[tuple[slice | EllipsisType, ...]]:
    """An index for each block; the ellipsis keeps a single element an array."""
    starts = (range(0, n, size) for n, size in zip(shape, sizes, strict=True))
    for corner in itertools.product(*starts):
        yield (..., *(slice(at, at + size) for at, size in zip(corner, sizes, strict=True)))


def _outer_loops(view: Array, gap: int, shortest: int) -> tuple[int, ...]:
    """The dims to loop over, so that what is left is one run of bytes with few gaps."""
    span = needed = view.itemsize
    outer: list[int] = []
    for d in sorted(range(view.ndim), key=lambda d: abs(view.strides[d])):
        span += (view.shape[d] - 1) * abs(view.strides[d])
        needed *= view.shape[d]
        if outer or span > max(gap * needed, shortest):
            outer.append(d)
    return tuple(sorted(outer))


def _starts(view: Array, loops: Sequence[int], first: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Each point of the loops, with the place that it moves ``first`` to, in bytes."""
    strides = [view.strides[d] for d in loops]
    for point in itertools.product(*(range(view.shape[d]) for d in loops)):
        yield point, first + sum(map(operator.mul, point, strides))


def _span(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Where the lowest and the highest element start, relative to the first one, in bytes."""
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return sum(min(0, r) for r in reach), sum(max(0, r) for r in reach)
