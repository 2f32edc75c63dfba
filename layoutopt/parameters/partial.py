"""A file that is written in any order, may be interrupted, and appears whole or not at all.

    .OUT.partial     the file so far, under its full length
    .OUT.journal     one JSON object a line: the job, then the offset, size and SHA-256 of each part

A journal of another job is thrown away with its file. A part counts as finished where the journal
says so and its bytes have that digest, so that it does not matter when the process was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from layoutopt.errors import InputError
from layoutopt.parameters.stream import ByteFile, reserve

Part = tuple[int, int]
"""Offset and size in bytes."""

_READ_BYTES = 1 << 20


class PartialFile:
    """An open partial file; made by `partial_file`."""

    def __init__(self, descriptor: int, journal: Path, size_bytes: int) -> None:
        self._descriptor = descriptor
        self._journal = journal
        self.contents = ByteFile(journal.name, descriptor, size_bytes, writable=True)
        self.finished: frozenset[Part] = frozenset()
        """Parts that an earlier run finished."""

    def finish(self, part: Part) -> None:
        """Note that a part is done."""
        row = {"part": part, "sha256": self._digest(*part)}
        with self._journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def recall(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Take the parts for finished whose bytes are what the journal says."""
        found: set[Part] = set()
        for row in rows:
            match row:
                case {"part": [int(offset), int(size)], "sha256": str(digest)}:
                    if self._digest(offset, size) == digest:
                        found.add((offset, size))
        self.finished = frozenset(found)

    def _digest(self, offset: int, size_bytes: int) -> str:
        digest = hashlib.sha256()
        for at in range(offset, offset + size_bytes, _READ_BYTES):
            count = min(_READ_BYTES, offset + size_bytes - at)
            digest.update(os.pread(self._descriptor, count, at))
        return digest.hexdigest()


@contextmanager
def partial_file(output: Path, job: str, size_bytes: int) -> Iterator[PartialFile]:
    """The partial file of ``output``; it takes its name when the context ends without an error.

    ``job`` tells one content from another: a run with the same job goes on where the last one
    stopped. Raises InputError where another process writes the file, or the disk refuses.
    """
    try:
        with _opened(output, job, size_bytes) as file:
            yield file
    except OSError as error:
        raise InputError(
            str(output),
            f"room for {size_bytes} bytes, and for what is needed between",
            error.strerror or str(error),
            "make room or choose another output",
        ) from error


@contextmanager
def _opened(output: Path, job: str, size_bytes: int) -> Iterator[PartialFile]:
    partial = output.with_name(f".{output.name}.partial")
    journal = output.with_name(f".{output.name}.journal")
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock(descriptor, output)
        rows = _rows(journal)
        if not rows or rows[0] != {"job": job}:
            os.truncate(descriptor, 0)
            rows = [{"job": job}]
        _write_rows(journal, rows)  # without a line that was cut off
        reserve(descriptor, size_bytes)
        file = PartialFile(descriptor, journal, size_bytes)
        file.recall(rows[1:])
        yield file
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    partial.replace(output)
    journal.unlink()


def _lock(descriptor: int, output: Path) -> None:
    try:
        import fcntl  # noqa: PLC0415  (not on every platform)
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(
            str(output),
            "to be the only one that writes it",
            "another process that does",
            "wait for it, or choose another output",
        ) from error


def _write_rows(journal: Path, rows: Sequence[Mapping[str, object]]) -> None:
    made = journal.with_name(f"{journal.name}.partial")
    made.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    made.replace(journal)


def _rows(journal: Path) -> list[dict[str, object]]:
    """The lines of a journal up to the first one that was not written to its end."""
    if not journal.is_file():
        return []
    rows: list[dict[str, object]] = []
    for line in journal.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        try:
            row = json.loads(line) if line.endswith("\n") else None
        except ValueError:
            break
        if not isinstance(row, dict):
            break
        rows.append(row)
    return rows
