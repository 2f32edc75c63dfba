"""One command line in a process of its own, forked from one that has everything imported."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

LIMIT_S = 120.0
_MEMORY_BYTES = 24 << 30


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: exit code, or the signal as a negative number; None past the time limit."""

    code: int | None
    stdout: str
    stderr: str


def import_all() -> None:
    """Import what commands import, so that a fork need not."""
    for name in ("main", "optimize", "explain", "compile", "profile", "pack_weights", "targets"):
        import_module(f"layoutopt.cli.{name}")


@dataclass(frozen=True, slots=True)
class Running:
    """A run that was started."""

    pid: int
    folder: Path
    started: float

    @classmethod
    def start(cls, arguments: Sequence[str], folder: Path) -> Running:
        """Run a command line in ``folder``."""
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            _child(arguments, folder)
        return cls(pid, folder, time.monotonic())

    def ended(self) -> Ended | None:
        """How it ended; None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0 and time.monotonic() - self.started < LIMIT_S:
            return None
        with suppress(ProcessLookupError):  # what it started may have outlived it
            os.killpg(self.pid, signal.SIGKILL)
        if pid == 0:
            os.waitpid(self.pid, 0)
        out, err = ((self.folder / n).read_text("utf-8", "replace") for n in ("stdout", "stderr"))
        return Ended(os.waitstatus_to_exitcode(status) if pid else None, out, err)


def _child(arguments: Sequence[str], folder: Path) -> None:
    """Never returns."""
    code = 99
    try:
        os.setsid()
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, number in (("stdout", 1), ("stderr", 2)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115  (they live to the end)
        import_module("layoutopt.cli.main").main(list(arguments))
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 98
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
