"""The head of an IREE parameter archive (.irpa), so that its contents can be written in any order.

IREE's own writer takes whole tensors from memory, or copies them from a file as they are; here
they are converted on the way and the file is longer than memory. The format is that of
``iree/schemas/parameter_archive.h``, version 0.0; the bytes are those that IREE's writer makes of
the same entries.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

_ALIGNMENT = 64
"""Of each entry's bytes within the file."""
_ENTRY_ALIGNMENT = 16
_PAGE = 4096
"""The file ends on a page."""
_HEADER = struct.Struct("<4sHHQQQQQQQQQQ")
_ENTRY = struct.Struct("<QIQQQQQQ")  # size, type, flags, name, metadata, minimum alignment
_DATA_BODY = struct.Struct("<QQ")  # offset and length within the storage
_SPLAT_BODY = struct.Struct("<Q16sB")  # length, pattern, pattern length
_SPLAT, _DATA = 1, 2


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A tensor of an archive: ``size_bytes`` of contents, or a ``pattern`` that repeats."""

    key: str
    size_bytes: int
    pattern: bytes = b""
    """What a splat repeats, 1 to 16 bytes; empty for an entry with contents of its own."""
    metadata: bytes = b""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where everything stands in the file."""

    head: bytes
    offsets: tuple[int, ...]
    """For each entry, where its contents start; 0 for a splat."""
    size_bytes: int


def archive_of(entries: Sequence[ArchiveEntry]) -> Archive:
    """Lay out an archive: its head, and where the contents of each entry go."""
    names, places = _references(entries)
    table = bytearray()
    storage = 0
    relative: list[int] = []
    for entry, (name, metadata) in zip(entries, places, strict=True):
        table += b"\0" * (-len(table) % _ENTRY_ALIGNMENT)
        if entry.pattern:
            kind, alignment = _SPLAT, 0
            body = _SPLAT_BODY.pack(entry.size_bytes, entry.pattern, len(entry.pattern))
            relative.append(-1)
        else:
            kind, alignment = _DATA, _ALIGNMENT
            storage += -storage % _ALIGNMENT
            body = _DATA_BODY.pack(storage, entry.size_bytes)
            relative.append(storage)
            storage += entry.size_bytes
        size = _ENTRY.size + len(body)
        table += _ENTRY.pack(size, kind, 0, *name, *metadata, alignment) + body
    first = _HEADER.size + -_HEADER.size % _ENTRY_ALIGNMENT
    reference = first + len(table)
    start = reference + len(names)
    if any(not entry.pattern for entry in entries):
        start += -start % _ALIGNMENT
    header = _HEADER.pack(
        b"IRPA",
        *(0, 0, _HEADER.size, 0, 0, len(entries)),
        *(first, len(table), reference, len(names), start, storage),
    )
    head = header.ljust(first, b"\0") + bytes(table) + names
    offsets = tuple(0 if at < 0 else start + at for at in relative)
    size = start + storage
    return Archive(head.ljust(start, b"\0"), offsets, size + -size % _PAGE)


_Span = tuple[int, int]
"""Offset and length."""


def _references(entries: Sequence[ArchiveEntry]) -> tuple[bytes, list[tuple[_Span, _Span]]]:
    """Names and metadata one after another, and where those of each entry are."""
    text = bytearray()
    places: list[tuple[_Span, _Span]] = []
    for entry in entries:
        spans = []
        for part in (entry.key.encode(), entry.metadata):
            spans.append((len(text), len(part)) if part else (0, 0))
            text += part
        places.append((spans[0], spans[1]))
    return bytes(text), places
