"""A folder for one run's files. What a killed run leaves behind, a later one clears."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "layoutopt-"
STALE_AFTER_S = 3600.0


@contextmanager
def workspace() -> Iterator[Path]:
    """Make a temporary folder that carries the process id, so that leftovers can be told."""
    clear_leftovers(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as folder:
        yield Path(folder)


def clear_leftovers(parent: Path) -> None:
    """Remove folders of processes that were killed. An hour's grace spares other PID namespaces."""
    for folder in parent.glob(f"{PREFIX}*-*"):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        try:
            is_stale = time.time() - folder.stat().st_mtime > STALE_AFTER_S
        except OSError:
            continue
        if number.isdigit() and is_stale and not is_alive(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


def is_alive(pid: int) -> bool:
    """Whether a process of that id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
