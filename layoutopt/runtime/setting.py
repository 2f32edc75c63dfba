"""Where modules run, and with what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunSetting:
    """A device of IREE's runtime, and what calls on it have in common."""

    device: str = "local-sync"
    threads: int = 1
    timeout_s: float = 120.0
    """Seconds for one call."""
    archives: Sequence[tuple[str, Path]] = ()
    """(scope, file) of the parameters that modules leave outside."""


HERE = RunSetting()
"""One thread of this machine."""
