"""Files that layoutopt is given."""

from __future__ import annotations

import os
from pathlib import Path

from layoutopt.errors import InputError, why


def check_file(path: Path, expected: str) -> None:
    """Raises InputError where a path leads to no file; ``expected`` says what it should be."""
    if path.is_dir():
        raise InputError(str(path), expected, "a folder", "name a file in it")
    if not path.is_file():
        raise InputError(str(path), expected, "no such file", "check the path")
    if not os.access(path, os.R_OK):
        raise InputError(str(path), expected, "permission denied", "check its permissions")


def read_input(path: Path) -> bytes:
    """All of a file. Raises InputError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            str(path), "a file that can be read", why(error), "check the path and its permissions"
        ) from error


def read_text(path: Path) -> str:
    """All of a text file. Raises InputError where it cannot be read, or is not UTF-8."""
    try:
        return read_input(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            str(path),
            "text in UTF-8",
            f"an invalid byte at position {error.start}",
            "save it as UTF-8",
        ) from error
