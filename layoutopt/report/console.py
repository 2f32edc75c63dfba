"""Consoles to print on."""

from __future__ import annotations

import sys

from rich.console import Console

_WIDE = 140
"""Columns where the output goes to a file or a pipe, which have no width of their own."""


def console() -> Console:
    """Standard output, as wide as the terminal."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDE)
