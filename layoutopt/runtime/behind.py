"""Tools that run behind others: where a core is idle, and never while something is timed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_START = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.nice(19); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
"""``PR_SET_PDEATHSIG`` with ``SIGKILL``: a tool that is stopped would else outlive its parent."""


@dataclass
class _Tools:
    """The process groups that run behind others."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    groups: set[int] = field(default_factory=set)
    timings: int = 0
    """That go on now."""
    stopped_at: float = 0.0
    stopped_s: float = 0.0
    """For how long they were stopped, up to the last time that they went on."""

    def signal(self, number: signal.Signals) -> None:
        for group in self.groups:
            _signal(group, number)


_tools = _Tools()


def can_run_behind() -> bool:
    """Whether the system ends what is stopped with its parent."""
    return sys.platform == "linux"


def behind(command: Sequence[str]) -> list[str]:
    """The command that runs another one with the least claim on cores; see `running_behind`."""
    return [sys.executable, "-I", "-S", "-c", _START, *command]


@contextmanager
def running_behind(group: int) -> Iterator[None]:
    """Meanwhile, a process group is stopped whenever `alone` asks for it."""
    with _tools.lock:
        _tools.groups.add(group)
        if _tools.timings:
            _signal(group, signal.SIGSTOP)
    try:
        yield
    finally:
        with _tools.lock:
            _tools.groups.discard(group)


@contextmanager
def alone() -> Iterator[None]:
    """Meanwhile, nothing runs behind others: something is timed."""
    with _tools.lock:
        _tools.timings += 1
        if _tools.timings == 1:
            _tools.stopped_at = time.monotonic()
            _tools.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        with _tools.lock:
            _tools.timings -= 1
            if not _tools.timings:
                _tools.stopped_s += time.monotonic() - _tools.stopped_at
                _tools.signal(signal.SIGCONT)


def stopped_s() -> float:
    """Seconds for which tools behind others have been stopped, since this process began."""
    with _tools.lock:
        now = time.monotonic() - _tools.stopped_at if _tools.timings else 0.0
        return _tools.stopped_s + now


def end_behind() -> None:
    """Kill what runs behind others."""
    with _tools.lock:
        _tools.signal(signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
