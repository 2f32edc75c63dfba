"""The thread that calls a device whose workers compute.

It waits busily for a while before it sleeps. Where there are as many workers as cores it takes one
of them from a worker meanwhile, and the scheduler of Linux lets it have that for a whole slice: ten
steps nicer than the workers, it had them share the other core in nine calls of ten, and two threads
computed as much as one (Linux 6.18). What is scheduled as idle gives way to whatever wakes up, at
once.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import Executor, ThreadPoolExecutor

_NICEST = 19


def caller_that_gives_way() -> Executor:
    """One thread that gives way to all others, where the system schedules by thread (Linux)."""
    return ThreadPoolExecutor(max_workers=1, initializer=_give_way)


def _give_way() -> None:
    if sys.platform != "linux":  # elsewhere it would be the priority of the whole process
        return
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError:  # a sandbox that does not allow it: the next best
        os.setpriority(os.PRIO_PROCESS, 0, _NICEST)
