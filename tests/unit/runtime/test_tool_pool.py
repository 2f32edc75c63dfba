from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from layoutopt.runtime import process
from layoutopt.runtime.behind import Behind
from layoutopt.runtime.process import Ended, run_tool
from layoutopt.runtime.tool_pool import tool_pool


def interrupt_when_running(started: threading.Event) -> None:
    """What Ctrl-C does to the thread that waits for the tools."""
    with tool_pool(1) as pool:
        pool.submit(started.set)
        pool.submit(run_tool, ["sleep", "60"], 60.0)
        pool.submit(started.clear)
        started.wait(10.0)
        while not process._running:
            time.sleep(0.01)
        raise KeyboardInterrupt


def test_an_interrupt_ends_the_tools_that_run() -> None:
    started = threading.Event()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt_when_running(started)
    assert time.monotonic() - begin < 30
    assert started.is_set(), "what had not begun must not begin any more"


def test_results_come_as_from_any_pool() -> None:
    with tool_pool(2) as pool:
        runs = list(pool.map(lambda word: run_tool(["echo", word], 10.0), ("a", "b")))
    assert [run.ended for run in runs] == [Ended.OK, Ended.OK]


def test_an_error_leaves_tools_behind_others_alone() -> None:
    behind = Behind()
    with ThreadPoolExecutor(1) as other:
        sleep = [sys.executable, "-c", "import time; time.sleep(2)"]
        waiting = other.submit(run_tool, sleep, 60.0, behind=behind)
        time.sleep(0.5)
        with pytest.raises(ValueError, match="of the pool"), tool_pool(1):
            raise ValueError("of the pool")
        assert waiting.result().ended is Ended.OK
