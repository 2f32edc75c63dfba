"""Threads that run tools side by side and leave none of them behind."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from layoutopt.runtime.process import kill_running


@contextmanager
def tool_pool(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """At an error or interrupt, tools that run are killed and the others are not started."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        kill_running()
        raise
    finally:
        pool.shutdown(wait=True)
