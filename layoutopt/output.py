"""Files that layoutopt writes for its user: checked ahead, written whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from layoutopt.errors import InputError


def check_writable(path: Path) -> None:
    """Raises InputError where a file cannot be written, before any work is done."""
    if path.is_dir():
        raise InputError(str(path), "a file to write", "a folder", "name a file in it")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(
            str(path),
            "a folder that can be written",
            error.strerror or str(error),
            "choose another output",
        ) from error


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A path to write to that takes the place of ``path`` once the body is through.

    Raises InputError where the disk refuses; then, and after any error, ``path`` is as it was.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        raise InputError(
            str(path),
            "a file that can be written",
            error.strerror or str(error),
            "make room or choose another output",
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all. Raises InputError where the disk refuses."""
    with written_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")
