"""How long a tool has waited for a core: time that says nothing about the tool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def starved_s(group: int) -> float:
    """Seconds that a process group could have run but had no core: its thread that waited most.

    0 where the system does not tell (it is Linux that does, in ``schedstat``).
    """
    return max(map(_waited_s, _threads(group)), default=0.0)


def _threads(group: int) -> Iterator[Path]:
    for stat in _PROC.glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):  # processes end while they are looked at
            after_name = stat.read_text().rpartition(")")[2].split()
            if int(after_name[2]) == group:
                yield from (stat.parent / "task").iterdir()


def _waited_s(thread: Path) -> float:
    with suppress(OSError, ValueError, IndexError):
        return int((thread / "schedstat").read_text().split()[1]) / 1e9
    return 0.0
