"""Other runtimes on the same ONNX model, each in a process of its own.

``python -m layoutopt.runtime.peer NAME MODEL THREADS`` prints median milliseconds as JSON. A peer
is a file in ``peers``: ``PACKAGE``, which it needs, and ``runner(model, threads)``, which hands
back one run as a function.
"""

from __future__ import annotations

import importlib.util
import json
import pkgutil
import statistics
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType

from layoutopt.errors import InputError
from layoutopt.runtime import peers
from layoutopt.runtime.process import Ended, run_tool
from layoutopt.runtime.reason import failure_reason

_RUNS, _WARM_UPS = 9, 2


def peer_names() -> tuple[str, ...]:
    """The names of all peers, as on the command line."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(peers.__path__)))


def check_peers(names: tuple[str, ...]) -> None:
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


def time_peer(name: str, model: Path, threads: int, timeout_s: float = 300.0) -> float:
    """Median milliseconds of one run. Raises InputError where the peer fails."""
    command = [sys.executable, "-m", "layoutopt.runtime.peer", name, str(model), str(threads)]
    run = run_tool(command, timeout_s)
    if run.ended is not Ended.OK:
        raise InputError(
            str(model),
            f"a model that {name} runs",
            failure_reason(name, run, timeout_s),
            "leave the peer out",
        )
    return float(json.loads(run.stdout.splitlines()[-1])["milliseconds"])


def timed_here(name: str, model: str, threads: int) -> float:
    """Median milliseconds of one run, in this process."""
    run = _peer(name).runner(model, threads)
    samples = []
    for _ in range(_WARM_UPS + _RUNS):
        start = time.perf_counter()
        run()
        samples.append(1e3 * (time.perf_counter() - start))
    return statistics.median(samples[_WARM_UPS:])


def _peer(name: str) -> ModuleType:
    return import_module(f"{peers.__name__}.{name}")


def _main() -> None:
    name, model, threads = sys.argv[1:]
    print(json.dumps({"milliseconds": timed_here(name, model, int(threads))}))


if __name__ == "__main__":
    _main()
