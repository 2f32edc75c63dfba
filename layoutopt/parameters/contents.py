"""What a packed parameter file holds: entries as they were, then weights computed from them."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from layoutopt.ir.types import Array
from layoutopt.mlir.read.initializers import LoadTimeWeight
from layoutopt.parameters.archive import ArchiveEntry, archive_of
from layoutopt.parameters.movement import Movement, raw_type
from layoutopt.parameters.partial import Part, PartialFile
from layoutopt.parameters.stream import ByteFile, copy_blocks, open_file
from layoutopt.runtime.binding import StoredParameter

PART_BYTES = 64 << 20
"""What is lost at most when a run is killed."""

Progress = Callable[[int, int], None]
"""Told (bytes done, bytes in all)."""


class Contents:
    """The entries of a packed file, and how each is written."""

    def __init__(
        self,
        path: Path,
        stored: Mapping[str, StoredParameter],
        dropped: Collection[str],
        weights: Mapping[str, LoadTimeWeight],
        folder: Path,
    ) -> None:
        """``stored``: the entries of ``path``; ``folder``: for files that are needed between."""
        self._stored = stored
        self._weights = weights
        self._folder = folder
        self._source = open_file(path)
        kept = [e for e in stored.values() if e.key not in dropped]
        self._entries = [ArchiveEntry(e.key, e.size_bytes, e.pattern, e.metadata) for e in kept]
        self._entries += [self._entry(key, weight) for key, weight in weights.items()]
        self.archive = archive_of(self._entries)
        stat = path.stat()
        head = hashlib.sha256(self.archive.head).hexdigest()
        told = [str(path.resolve()), stat.st_size, stat.st_mtime_ns, head]
        self.job = hashlib.sha256(json.dumps(told).encode()).hexdigest()
        """What tells this file from any other that might be half written in its place."""

    def write(self, partial: PartialFile, progress: Progress) -> None:
        """Write the head and every part that is not finished yet."""
        file = partial.contents
        head = np.frombuffer(self.archive.head, np.uint8)
        file.write(file.bytes[: head.size], head)
        placed = list(zip(self._entries, self.archive.offsets, strict=True))
        written = [(entry, at) for entry, at in placed if not entry.pattern]
        total, done = sum(entry.size_bytes for entry, _ in written), 0
        for entry, at in written:
            for part, write in self._parts(entry, at, file):
                if part not in partial.finished:
                    write()
                    partial.finish(part)
                done += part[1]
                progress(done, total)

    def _parts(
        self, entry: ArchiveEntry, at: int, file: ByteFile
    ) -> Iterator[tuple[Part, Callable[[], None]]]:
        """The parts of an entry, in order, and what writes each."""
        target = file.bytes[at : at + entry.size_bytes]
        files = (self._source, file)
        weight = self._weights.get(entry.key)
        if weight is None:
            stored = self._stored[entry.key]
            source = self._source.bytes[stored.offset : stored.offset + stored.size_bytes]
            for rows in _split(entry.size_bytes, entry.size_bytes):
                part = (at + rows.start, rows.stop - rows.start)
                yield part, functools.partial(copy_blocks, source[rows], target[rows], files)
            return
        movement = self._movement(weight, files)
        typed = target.view(raw_type(weight.kind)).reshape(weight.kind.shape)
        count = movement.rows(weight.result)
        row_bytes = entry.size_bytes // count
        for rows in _split(count, entry.size_bytes):
            part = (at + rows.start * row_bytes, (rows.stop - rows.start) * row_bytes)
            yield part, functools.partial(movement.store_rows, weight.result, rows, typed)

    def _entry(self, key: str, weight: LoadTimeWeight) -> ArchiveEntry:
        movement = self._movement(weight, ())
        pattern = movement.element(weight.result) if movement.is_splat(weight.result) else b""
        return ArchiveEntry(key, weight.kind.size_bytes, pattern)

    def _movement(self, weight: LoadTimeWeight, files: Sequence[ByteFile]) -> Movement:
        leaves: dict[int, Array] = {}
        for tensor, parameter in weight.parameters.items():
            entry, kind = self._stored[parameter.key], weight.graph.types[tensor]
            raw = raw_type(kind)
            if entry.pattern:
                pattern = entry.pattern * (raw.itemsize // len(entry.pattern))
                leaves[tensor] = np.broadcast_to(np.frombuffer(pattern, raw)[0], kind.shape)
            else:
                contents = self._source.bytes[entry.offset : entry.offset + entry.size_bytes]
                leaves[tensor] = contents.view(raw).reshape(kind.shape)
        return Movement(weight.graph, leaves, files, self._folder)


def _split(rows: int, size_bytes: int) -> Iterator[slice]:
    """Consecutive rows in parts of about `PART_BYTES`; nothing for an entry without bytes."""
    if not size_bytes:
        return
    step = max(1, rows * PART_BYTES // size_bytes)
    for at in range(0, rows, step):
        yield slice(at, min(rows, at + step))
