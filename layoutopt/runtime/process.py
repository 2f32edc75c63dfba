"""Run a tool as a subprocess that can always be ended: whole, on time, on Ctrl-C."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import IO

from layoutopt.errors import InputError
from layoutopt.runtime.behind import Behind, stopped_s
from layoutopt.runtime.scheduling import starved_s, worked_s

ERROR_TEXT_BYTES = 1 << 20
"""How much of a tool's stderr is read: a compiler may print a whole module beside its error."""

IDLE_S = 30.0
"""A tool that does nothing for so long hangs: a compiler whose heap is damaged waits for a lock."""

_GRACE_S = 0.1
"""Seconds between looks at a tool that is late because it had no core."""


class Ended(Enum):
    """How a process ended."""

    OK = "ok"
    ERROR = "error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One finished run: how it ended, what it printed, wall time in seconds."""

    ended: Ended
    signal_name: str
    stdout: str
    stderr: str
    seconds: float


_running: set[subprocess.Popen[bytes]] = set()
_running_lock = threading.Lock()


@cache
def find_tool(name: str) -> str:
    """Return the path of an IREE tool: in IREE's wheels, beside this Python, or on PATH.

    Where a wheel holds the program itself, what stands beside this Python is a script that spends a
    quarter of a second on starting it.
    """
    for place in (*_in_wheels(name), Path(sys.executable).with_name(name)):
        if os.access(place, os.X_OK):
            return str(place)
    if found := shutil.which(name):
        return found
    raise InputError(
        name, "the tool beside this Python or on PATH", "nothing", "pip install layoutopt"
    )


def _in_wheels(name: str) -> Iterator[Path]:
    """Programs of that name inside the packages, the plainest build of it first."""
    for wheel in ("iree-base-compiler", "iree-base-runtime"):
        with suppress(PackageNotFoundError):
            held = (f for f in files(wheel) or () if f.name == name and "bin" not in f.parts)
            yield from sorted(Path(str(file.locate())) for file in held)


def keeping_memory() -> dict[str, str]:
    """An environment in which memory that was freed stays with its process, by glibc's settings.

    Else every call takes its large tensors anew from the system, which hands them out page by page:
    0.35 ms for a MiB, more than most ops take to fill it. IREE's tools keep it with
    ``--device_allocator=caching``, which its Python runtime does not have.
    """
    return {**os.environ, "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str((1 << 63) - 1)}


def run_tool(
    command: Sequence[str],
    timeout_s: float,
    environment: dict[str, str] | None = None,
    memory_bytes: int | None = None,
    behind: Behind | None = None,
) -> ToolRun:
    """Run `command` in its own process group and wait; on timeout the whole group is killed.

    So it is where it does nothing for `IDLE_S`. Time for which it waits for a core does not count:
    other work on the machine would decide.
    ``memory_bytes``: what it may map at most; None for no bound. ``behind``: those that it
    runs among; that it is stopped does not count either, and one that they ended is a crash. Raises
    InputError where a file that it writes reaches the limit on file sizes: that says nothing of
    what the tool was given.
    """
    started = time.monotonic()
    if behind is not None and behind.has_ended:
        return ToolRun(Ended.CRASH, signal.SIGKILL.name, "", "", 0.0)
    with ExitStack() as stack:
        out = stack.enter_context(tempfile.TemporaryFile())
        err = stack.enter_context(tempfile.TemporaryFile())
        process = subprocess.Popen(
            command if behind is None else behind.command(command),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment,
            start_new_session=True,
        )
        if behind is not None:
            stack.enter_context(behind.running(process.pid))
        else:
            with _running_lock:
                _running.add(process)
        try:
            limit_cpu(process.pid, timeout_s)
            if memory_bytes is not None:
                limit_memory(process.pid, memory_bytes)
            late = _late(process, timeout_s, behind is not None)
            if late is not None:
                kill_group(process)
        except BaseException:
            kill_group(process)
            raise
        finally:
            with _running_lock:
                _running.discard(process)
        ended, name = (late, "") if late is not None else how_ended(process.returncode)
        if name == "SIGXFSZ":
            raise InputError(
                Path(command[0]).name,
                "room for the files that it writes",
                "the limit on the size of a file",
                "raise it with `ulimit -f unlimited`",
            )
        seconds = time.monotonic() - started
        return ToolRun(ended, name, _text(out, None), _text(err, ERROR_TEXT_BYTES), seconds)


def _late(process: subprocess.Popen[bytes], timeout_s: float, is_behind: bool) -> Ended | None:
    """Wait for the end of a process; why no longer, where it does not come."""
    started = time.monotonic()
    stopped_before_s = stopped_s()
    left_s = timeout_s
    before = (0.0, 0.0, 0.0)
    while left_s > 0:
        look_s = min(max(left_s, _GRACE_S), IDLE_S)
        try:
            process.wait(look_s)
            return None
        except subprocess.TimeoutExpired:
            stood_s = stopped_s() - stopped_before_s if is_behind else 0.0
            after = worked_s(process.pid), starved_s(process.pid), stood_s
            if look_s == IDLE_S and after == before and after[:2] != (0.0, 0.0):
                return Ended.IDLE
            before = after
            left_s = started + timeout_s + after[1] + stood_s - time.monotonic()
    return Ended.TIMEOUT


def how_ended(returncode: int) -> tuple[Ended, str]:
    """Tell an error from a crash, and name the signal of a crash.

    A tool behind a Python or shell wrapper reports signal n as exit status 256 - n or 128 + n.
    """
    if returncode == 0:
        return Ended.OK, ""
    if 0 < returncode <= 128:
        return Ended.ERROR, ""
    number = -returncode if returncode < 0 else min(256 - returncode, returncode - 128)
    try:
        return Ended.CRASH, signal.Signals(number).name
    except ValueError:
        return Ended.ERROR, ""


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and everything it started, and reap it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def kill_running() -> None:
    """Kill every tool that runs now, of any thread, but those behind others: see `Behind`."""
    with _running_lock:
        processes = tuple(_running)
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def limit_cpu(pid: int, timeout_s: float) -> None:
    """Bound the CPU time of a tool, in case its parent ended."""
    try:
        from resource import RLIMIT_CPU, prlimit  # noqa: PLC0415  (Linux only)
    except ImportError:
        return
    seconds = int(timeout_s * ((os.cpu_count() or 1) + 1)) + 10
    with suppress(ProcessLookupError, PermissionError, ValueError):
        prlimit(pid, RLIMIT_CPU, (seconds, seconds))


def limit_memory(pid: int, size_bytes: int) -> None:
    """Bound the memory of a tool: what it reads may ask for any amount."""
    try:
        from resource import RLIMIT_AS, prlimit  # noqa: PLC0415  (Linux only)
    except ImportError:
        return
    with suppress(ProcessLookupError, PermissionError, ValueError):
        prlimit(pid, RLIMIT_AS, (size_bytes, size_bytes))


def _text(file: IO[bytes], limit: int | None) -> str:
    file.seek(0)
    return file.read(-1 if limit is None else limit).decode(errors="replace")
