"""JSON in a cache folder that tells whether it is whole: a digest, then the value on the next line.

What is kept there saves time and nothing else, so a damaged file counts as a missing one: it is
told in the log, and made anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from layoutopt.errors import why

LOG = logging.getLogger(__name__)
Kept = TypeVar("Kept")


def sealed(value: object) -> str:
    """The text of a file that holds a value which JSON can hold."""
    text = json.dumps(value, sort_keys=True)
    return f"{_digest(text.encode())}\n{text}\n"


def unsealed(path: Path, kind: type[Kept]) -> Kept | None:
    """The value of a file as a dataclass, tuple, ...; None where it is missing or damaged."""
    found = _read(path, kind)
    if not isinstance(found, _Damage):
        return found
    LOG.warning("%s: damaged (%s), so it is made anew", path, found.reason)
    return None


def is_sealed(path: Path, kind: type[Kept]) -> bool:
    """Whether a file holds such a value."""
    found = _read(path, kind)
    return found is not None and not isinstance(found, _Damage)


@dataclass(frozen=True, slots=True)
class _Damage:
    reason: str


def _read(path: Path, kind: type[Kept]) -> Kept | _Damage | None:
    try:
        digest, _, text = path.read_bytes().partition(b"\n")
        if digest.decode("ascii", "replace") != _digest(text.rstrip(b"\n")):
            return _Damage("its digest is another one")
        return msgspec.convert(json.loads(text), kind)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        return _Damage(why(error))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
