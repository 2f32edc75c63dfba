"""Which file holds for the compiler that is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

from layoutopt.compiler.iree_3_13 import IREE_3_13
from layoutopt.compiler.quirks import Quirks

KNOWN: tuple[Quirks, ...] = (IREE_3_13,)
"""Oldest first."""


@cache
def quirks() -> Quirks:
    """What is known of the installed version, or of the nearest one that is known."""
    return nearest(installed_version())


def installed_version() -> str:
    """The version of the compiler."""
    return version("iree-base-compiler")


def nearest(installed: str, known: Sequence[Quirks] = KNOWN) -> Quirks:
    """The newest known version that is not newer than the installed one, else the oldest."""
    number = _number(installed)
    older = [found for found in known if number is not None and found.version <= number]
    return older[-1] if older else known[0]


def assumption(installed: str, known: Sequence[Quirks] = KNOWN) -> str:
    """What to tell of a version that is not known; empty for one that is."""
    found = nearest(installed, known)
    if found.version == _number(installed):
        return ""
    name = ".".join(map(str, found.version))
    return f"IREE {installed} is not known: what was seen of IREE {name} is taken to hold for it"


def _number(installed: str) -> tuple[int, int] | None:
    """Major and minor; release candidates and builds of a version count as that version."""
    found = re.match(r"(\d+)\.(\d+)", installed)
    return None if found is None else (int(found[1]), int(found[2]))
