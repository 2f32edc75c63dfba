"""What the scheduler knows of a tool: how long it has worked, and how long waited for a core.

Linux tells both, in ``schedstat``; where the system does not, they are 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def starved_s(group: int) -> float:
    """Seconds that a process group could have run but had no core: its thread that waited most.

    Such time says nothing about the tool.
    """
    return max((waited for _, waited in _times(group)), default=0.0)


def worked_s(group: int) -> float:
    """Seconds that the threads of a process group, as many as there are now, have worked."""
    return sum(worked for worked, _ in _times(group))


def _times(group: int) -> Iterator[tuple[float, float]]:
    """Seconds of work and of waiting for a core of each thread."""
    for thread in _threads(group):
        with suppress(OSError, ValueError):
            worked, waited, *_ = map(int, (thread / "schedstat").read_text().split())
            yield worked / 1e9, waited / 1e9


def _threads(group: int) -> Iterator[Path]:
    for stat in _PROC.glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):  # processes end while they are looked at
            after_name = stat.read_text().rpartition(")")[2].split()
            if int(after_name[2]) == group:
                yield from (stat.parent / "task").iterdir()
