"""Files that layoutopt writes for its user: checked ahead, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from layoutopt.errors import InputError, why


def check_writable(path: Path) -> None:
    """Raises InputError where a file cannot be written, before any work is done."""
    if path.is_dir():
        raise InputError(str(path), "a file to write", "a folder", "name a file in it")
    if path.exists() and not path.is_file():
        raise InputError(str(path), "a file to write", "a device or pipe", "choose another output")
    try:
        os.stat(path.parent)  # the folder as it is spelled: `a/..` needs an `a`
        with tempfile.NamedTemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(
            str(path),
            "a folder that can be written",
            why(error),
            "choose another output",
        ) from error


def check_output(made: Path, *read: Path) -> None:
    """Raises InputError where a file cannot be written, or is one of those that are read."""
    check_writable(made)
    check_not_read(made, *read)


def check_not_read(made: Path, *read: Path) -> None:
    """Raises InputError where a file to write is one that is read."""
    for source in read:
        if made.exists() and source.exists() and made.samefile(source):
            raise InputError(
                str(made), "another file than the one that is read", "the same", "rename it"
            )


@contextmanager
def written_atomically(path: Path) -> Iterator[Path]:
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
            why(error),
            "make room or choose another output",
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all. Raises InputError where the disk refuses."""
    with written_atomically(path) as partial:
        partial.write_text(text, encoding="utf-8")
