"""Ctrl-C while a command is still being imported, when there is nothing yet to clean up."""

from __future__ import annotations

import os
import signal
from types import FrameType

from layoutopt.errors import INTERRUPTED

INTERRUPTED_CODE = 130


def end_at_once() -> None:
    """From now on an interrupt ends this process with one line.

    An exception would not do: one that strikes in the middle of an import may be swallowed there,
    or come out as another one. An interrupt that is ignored stays so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_again() -> None:
    """From now on it raises KeyboardInterrupt, so that what runs can be ended and cleaned up."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(INTERRUPTED_CODE)
