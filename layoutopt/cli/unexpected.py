"""The last resort of the command line: an exception that no check foresaw, as one line."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from layoutopt.errors import InputError, LayoutoptError, why

UNEXPECTED_CODE = 70
"""EX_SOFTWARE of sysexits.h: an internal error."""
TRACEBACK = "LAYOUTOPT_TRACEBACK"
_PACKAGES = ("layoutopt", "profiles", "rules", "solver")
_LENGTH = 200


class UnexpectedError(LayoutoptError):
    """A fault of layoutopt itself."""


def unexpected(error: Exception) -> LayoutoptError:
    """What to tell of an exception that is not a LayoutoptError."""
    if isinstance(error, MemoryError):
        return InputError(
            "layoutopt", "enough memory", "none left", "end other programs, or plan a smaller model"
        )
    if isinstance(error, RecursionError):
        return InputError(
            _place(error), "input of a depth that Python follows", "a deeper one",
            "simplify what is nested",
        )  # fmt: skip
    return UnexpectedError(
        "layoutopt",
        "no error of its own",
        f"{type(error).__name__}: {why(error)[:_LENGTH]} in {_place(error)}",
        f"report this as a bug with the command and its files; {TRACEBACK}=1 shows where it was",
    )


def shows_traceback() -> bool:
    """Whether the user asked for tracebacks."""
    return bool(os.environ.get(TRACEBACK))


def _place(error: Exception) -> str:
    """The innermost line of ours that was running."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if any(p in Path(f.filename).parts for p in _PACKAGES)]
    frame = (ours or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"
