"""Which version of IREE is installed."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version


@cache
def iree_version() -> str:
    """Version of compiler and runtime, as it stands in keys and reports."""
    return f"{version('iree-base-compiler')}/{version('iree-base-runtime')}"
