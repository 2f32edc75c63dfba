"""Which core each worker of a device stays on.

Linux chooses the core of a thread that wakes up, and where all cores are busy it takes the one that
the thread was on last: two workers then share a core while the thread that calls waits on the other
one, for tens of calls in a row. A third of all runs timed a kernel on two threads as on one.
"""

from __future__ import annotations

import os
from collections.abc import Collection


def topology_flag(threads: int, allowed: Collection[int] | None = None) -> str:
    """The flag of IREE's tools and runtime that starts so many workers, each on a core of its own.

    On the last ones of those that are ``allowed``, as the first ones serve interrupts; by default
    of those that this process may use. Where these are fewer, or the system does not tell, the
    system chooses.
    """
    if allowed is None:
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    if threads > len(allowed):
        return f"--task_topology_group_count={threads}"
    return f"--task_topology_cpu_ids={','.join(map(str, sorted(allowed)[-threads:]))}"
