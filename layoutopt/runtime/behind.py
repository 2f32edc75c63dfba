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
from pathlib import Path

_START = """
import contextlib, ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
os.nice(19)
with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
    group.write("19")
os.execv(sys.argv[1], sys.argv[1:])
"""
"""``PR_SET_PDEATHSIG`` with ``SIGKILL``: a tool that is stopped would else outlive its parent.
Where Linux schedules sessions as groups, a tool is nicer than others of its own session only, and
had a third of two cores beside two compilers: so its session has to be as well.
"""


@dataclass
class _Timings:
    """What is timed in this process, and the process groups that stand still meanwhile."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    groups: set[int] = field(default_factory=set)
    going_on: int = 0
    began: float = 0.0
    seconds: float = 0.0
    """For how long groups were stopped, up to the last time that they went on."""

    def signal(self, number: signal.Signals) -> None:
        for group in self.groups:
            _signal(group, number)


_timings = _Timings()


def can_run_behind() -> bool:
    """Whether the system ends what is stopped with its parent."""
    return sys.platform == "linux"


class Behind:
    """Tools with the least claim on cores, which are ended together; see `alone`."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._ended = False

    @property
    def has_ended(self) -> bool:
        """Whether nothing is to be started any more."""
        return self._ended

    def command(self, command: Sequence[str]) -> list[str]:
        """The command that runs another one that way."""
        return [sys.executable, "-I", "-S", "-c", _START, *command]

    @contextmanager
    def running(self, group: int) -> Iterator[None]:
        """Meanwhile, a process group is one of these."""
        with _timings.lock:
            self._groups.add(group)
            _timings.groups.add(group)
            if self._ended:
                _signal(group, signal.SIGKILL)
            elif _timings.going_on:
                _signal(group, signal.SIGSTOP)
        try:
            yield
        finally:
            with _timings.lock:
                self._groups.discard(group)
                _timings.groups.discard(group)

    def hurry(self) -> None:
        """Give what runs the claim on cores that others have, where nothing goes on without it.

        Systems let those do that who may raise priorities; for others it stays as it is.
        """
        with _timings.lock:
            for group in self._groups:
                with suppress(ProcessLookupError, PermissionError):
                    os.setpriority(os.PRIO_PGRP, group, 0)
                with suppress(OSError), Path(f"/proc/{group}/autogroup").open("w") as session:
                    session.write("0")

    def end(self) -> None:
        """Kill what runs, and start nothing more."""
        with _timings.lock:
            self._ended = True
            for group in self._groups:
                _signal(group, signal.SIGKILL)


@contextmanager
def alone() -> Iterator[None]:
    """Meanwhile, what runs behind others in this process stands still: something is timed."""
    with _timings.lock:
        _timings.going_on += 1
        if _timings.going_on == 1:
            _timings.began = time.monotonic()
            _timings.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        with _timings.lock:
            _timings.going_on -= 1
            if not _timings.going_on:
                _timings.seconds += time.monotonic() - _timings.began
                _timings.signal(signal.SIGCONT)


def stopped_s() -> float:
    """Seconds for which tools behind others have been stopped, since this process began."""
    with _timings.lock:
        now = time.monotonic() - _timings.began if _timings.going_on else 0.0
        return _timings.seconds + now


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
