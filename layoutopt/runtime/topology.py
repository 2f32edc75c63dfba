"""Which core each worker of a device stays on.

Linux chooses the core of a thread that wakes up, and where all cores are busy it takes the one that
the thread was on last: two workers then share a core while the thread that calls waits on the other
one, for tens of calls in a row. A third of all runs timed a kernel on two threads as on one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence


def cores_for(threads: int, allowed: Collection[int] | None = None) -> Sequence[int]:
    """The last cores of those that are ``allowed``, a core a thread: the first serve interrupts.

    By default of those that this process may use. None where these are fewer, or the system does
    not tell.
    """
    if allowed is None:
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    return [] if threads > len(allowed) else sorted(allowed)[-threads:]


def topology_flag(threads: int, allowed: Collection[int] | None = None) -> str:
    """The flag of IREE's tools and runtime that starts so many workers, each on a core of its own.

    Where `cores_for` has none, the system chooses.
    """
    cores = cores_for(threads, allowed)
    if not cores:
        return f"--task_topology_group_count={threads}"
    return f"--task_topology_cpu_ids={','.join(map(str, cores))}"
