"""Other runtimes on the same ONNX model, each in a process of its own.

``python -m layoutopt.runtime.peer REQUEST`` loads a model, then answers each line of its input, a
number of calls, with their mean time or, for 0, with the results of one call. Request and answers
are JSON, one object a line.
"""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any  # what other runtimes hand back

import msgspec
import numpy as np

from layoutopt.errors import InputError
from layoutopt.files.closing import Closing
from layoutopt.runtime import peers
from layoutopt.runtime.element import Array, load_array, save_array
from layoutopt.runtime.job import ArrayFile
from layoutopt.runtime.reason import REASON_LENGTH, runtime_reason


def peer_names() -> tuple[str, ...]:
    """The names of all peers, as on the command line."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(peers.__path__)))


def check_peers(names: Sequence[str]) -> None:
    """Raises InputError for a peer that is unknown or not installed."""
    known = peer_names()
    for name in names:
        if name not in known:
            raise InputError(
                "--peers", f"names among {', '.join(known)}", f"'{name}'", "leave it out"
            )
        package = _peer(name).PACKAGE
        if importlib.util.find_spec(package) is None:
            raise InputError(
                "--peers",
                f"the package '{package}'",
                "none installed",
                f"run `pip install {package}` or leave it out",
            )


@dataclass(frozen=True, slots=True)
class PeerRequest:
    """A model for a peer; ``folder``: where the results of a call go."""

    peer: str
    model: str
    threads: int
    inputs: tuple[ArrayFile, ...]
    folder: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the process says: that it is ready, a time, results, or why there are none."""

    call_ns: float = 0.0
    outputs: tuple[ArrayFile, ...] = ()
    reason: str = ""


class PeerCall(Closing):
    """A model loaded by a peer, with its inputs in place; raises RuntimeError where that fails."""

    def __init__(self, request: PeerRequest) -> None:
        self._name = request.peer
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed in close)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, msgspec.json.encode(request).decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )
        try:
            self._answer()
        except RuntimeError:
            self.close()
            raise

    def run(self) -> tuple[Array, ...]:
        """Call once."""
        found = self._ask(0).outputs
        return tuple(load_array(Path(file.path), file.element) for file in found)

    def time_ns(self, calls: int, clock: Callable[[], int] = time.perf_counter_ns) -> float:
        """Mean time of `calls` calls, by the wall clock of the peer's own process."""
        return self._ask(calls).call_ns

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._stderr.close()

    def _ask(self, calls: int) -> _Answer:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the answer says so
            self._process.stdin.write(f"{calls}\n".encode())
            self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> _Answer:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._stderr.seek(0)
            said = self._stderr.read().decode(errors="replace").strip().splitlines()
            reason = said[-1][:REASON_LENGTH] if said else f"exit {self._process.returncode}"
            raise RuntimeError(f"{self._name} is gone: {reason}")
        answer = msgspec.json.decode(line, type=_Answer)
        if answer.reason:
            raise RuntimeError(answer.reason)
        return answer


def _peer(name: str) -> ModuleType:
    return import_module(f"{peers.__name__}.{name}")


def _serve(request: PeerRequest) -> None:
    # Native code may print to stdout: keep the real one for answers only.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def say(answer: _Answer) -> None:
        answers.write(msgspec.json.encode(answer) + b"\n")

    try:
        values = [load_array(Path(file.path), file.element) for file in request.inputs]
        run = _peer(request.peer).runner(request.model, request.threads, values)
        say(_Answer())
        for line in sys.stdin:
            calls = int(line)
            if not calls:
                say(_Answer(outputs=_kept(run(), request)))
                continue
            started = time.perf_counter_ns()
            for _ in range(calls):
                run()
            say(_Answer((time.perf_counter_ns() - started) / calls))
    except Exception as error:  # whatever another runtime raises is its reason
        say(_Answer(reason=runtime_reason(error)))


def _kept(results: Sequence[Any], request: PeerRequest) -> tuple[ArrayFile, ...]:
    found = []
    for place, result in enumerate(results):
        path = Path(request.folder) / f"{request.peer}{place}.npy"
        found.append(ArrayFile(str(path), save_array(path, np.asarray(result))))
    return tuple(found)


if __name__ == "__main__":
    _serve(msgspec.json.decode(sys.argv[1], type=PeerRequest))
