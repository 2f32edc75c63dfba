"""Cores that do not sleep while something is timed on several of them.

Between two dispatches a worker waits for the others, for microseconds. A core that sleeps meanwhile
wakes up late: in a virtual machine by up to 50 microseconds, in phases of seconds that come and go
with what else its host does, in which ShuffleNet took 10 ms on two threads where it else takes 3.6.
Linux lets those who may write to a file say how late is too late, for as long as they hold it open
(Documentation/power/pm_qos_interface.rst).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import FileIO
from pathlib import Path

LATENCY = Path("/dev/cpu_dma_latency")
_AT_ONCE = struct.pack("i", 0)
"""Microseconds until a core that waits goes on."""


@contextmanager
def cores_awake(wanted: bool, latency: Path = LATENCY) -> Iterator[bool]:
    """Meanwhile no core sleeps, where that is wanted and this process may ask for it; whether so.

    As root it mostly may, but not in every container.
    """
    file = _asked(latency) if wanted else None
    with nullcontext() if file is None else file:
        yield file is not None


def _asked(latency: Path) -> FileIO | None:
    """The file that the system heeds while it is open; None where it does not let us."""
    try:
        file = latency.open("r+b", buffering=0)
    except OSError:
        return None
    try:
        file.write(_AT_ONCE)
    except OSError:
        file.close()
        return None
    return file
