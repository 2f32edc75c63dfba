"""Cores that do not sleep while something is timed on several of them.

Between two dispatches a worker waits for the others, for microseconds. A core that sleeps meanwhile
wakes up late: in a virtual machine by up to 50 microseconds, in phases of seconds that come and go
with what else its host does, in which ShuffleNet took 10 ms on two threads where it else takes 3.6.
Linux lets those who may write to a file say how late is too late, for as long as they hold it open
(Documentation/power/pm_qos_interface.rst).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

LATENCY = Path("/dev/cpu_dma_latency")
_AT_ONCE = struct.pack("i", 0)
"""Microseconds until a core that waits goes on."""


def can_keep_awake(latency: Path = LATENCY) -> bool:
    """Whether this process may keep cores from sleeping: as root, mostly."""
    return os.access(latency, os.W_OK)


@contextmanager
def cores_awake(latency: Path = LATENCY) -> Iterator[None]:
    """Meanwhile no core sleeps, where this process may ask for that."""
    with ExitStack() as stack:
        if can_keep_awake(latency):
            file = stack.enter_context(latency.open("wb", buffering=0))
            file.write(_AT_ONCE)
        yield
