"""The parent's end of a worker: start it, listen with a time limit, end it."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

from layoutopt.errors import InputError
from layoutopt.files.closing import Closing
from layoutopt.runtime.job import Event, EventKind, Job, decode_event, encode_job
from layoutopt.runtime.process import Ended, how_ended, keeping_memory, kill_group
from layoutopt.runtime.topology import cores_for

START_TIMEOUT_S = 120.0


class WorkerDiedError(Exception):
    """The worker is gone; `reason` says how."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class WorkerSilentError(Exception):
    """The worker said nothing within the time limit; it has been killed."""


class WorkerProcess(Closing):
    """A running worker; on the host it has as many cores as threads, where it can be pinned."""

    def __init__(self, device: str, threads: int) -> None:
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed in close)
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "layoutopt.runtime.worker"),
                *("--device", device, "--threads", str(threads)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**keeping_memory(), "PYTHONPATH": path},
            start_new_session=True,
        )
        if device.startswith("local"):  # others have threads of their driver beside the caller
            pin(self._process.pid, threads)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()
        try:
            event = self.next_event(START_TIMEOUT_S)
        except BaseException as error:
            self.close()
            if isinstance(error, WorkerDiedError):
                raise InputError(
                    device, "a worker that starts", error.reason, "check the installation"
                ) from None
            raise
        if event.kind is not EventKind.READY:
            self.close()
            raise InputError(device, "a device that opens", event.reason, "choose another --device")

    def send(self, job: Job) -> None:
        """Give it a job; the answers come from `next_event`, the last one is DONE."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(encode_job(job).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise WorkerDiedError(self._how_it_died()) from None

    def next_event(self, timeout_s: float) -> Event:
        """Wait for the next event; a worker that is silent for longer is killed."""
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            self.close()
            raise WorkerSilentError from None
        if not line:
            reason = self._how_it_died()
            self.close()
            raise WorkerDiedError(reason)
        return decode_event(line.decode())

    def close(self) -> None:
        """Kill it and everything it started. Can be called twice."""
        if self._process.returncode is None:
            kill_group(self._process)
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None and not stream.closed:
                _close(stream)

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(b"")

    def _how_it_died(self) -> str:
        try:
            ended, name = how_ended(self._process.wait(5.0))
        except subprocess.TimeoutExpired:
            return "the worker closed its output"
        if ended is Ended.CRASH:
            return f"crashed ({name})"
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else f"exit status {self._process.returncode}"


def cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pin(pid: int, threads: int) -> None:
    """Bind a process to the cores that its threads are to have, where there are enough."""
    cores = cores_for(threads)
    if cores:
        os.sched_setaffinity(pid, cores)


def _close(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except BrokenPipeError:  # unsent bytes for a worker that is gone
        return
