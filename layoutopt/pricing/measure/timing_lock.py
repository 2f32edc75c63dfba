"""One at a time: two processes that time candidates on one machine would measure each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def timing_lock(store: Path) -> Iterator[None]:
    """Hold the lock beside the price store; the system lets go of it if this process is killed."""
    try:
        import fcntl  # noqa: PLC0415  (not on every platform)
    except ImportError:
        yield
        return
    with store.with_name(store.name + ".timing-lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
