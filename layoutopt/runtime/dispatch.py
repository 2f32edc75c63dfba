"""Times of the dispatches inside a whole module, from IREE's own device profiler."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutopt.errors import LoweringError
from layoutopt.runtime.element import Array, element_name
from layoutopt.runtime.process import Ended, find_tool, run_tool
from layoutopt.runtime.reason import failure_reason
from layoutopt.runtime.workspace import workspace


@dataclass(frozen=True, slots=True)
class DispatchTime:
    """One dispatch function: calls per run and mean time of a call in nanoseconds.

    `calls_ns` has the median over runs of each of its calls, in order of execution.
    """

    name: str
    count: int
    mean_ns: float
    calls_ns: tuple[float, ...]


def dispatch_times(
    module: Path,
    function: str,
    inputs: Sequence[Array],
    device: str = "local-sync",
    threads: int = 1,
    timeout_s: float = 120.0,
    archives: Sequence[tuple[str, Path]] = (),
    runs: int = 10,
) -> list[DispatchTime]:
    """Profile `runs` calls and return the dispatches in order of first execution.

    What runs when the module is loaded, such as packing of parameters, is not in it.
    """
    with workspace() as folder:
        bundle = folder / "run.ireeprof"
        command = [
            find_tool("iree-benchmark-module"),
            f"--module={module}",
            f"--function={function}",
            f"--device={device}",
            *(f"--parameters={scope}={path}" for scope, path in archives),
            *(_input(array, folder / f"{index}.bin") for index, array in enumerate(inputs)),
            f"--benchmark_min_time={runs}x",
            "--device_profiling_mode=host-execution,executable-metadata",
            f"--device_profiling_output={bundle}",
        ]
        if device.startswith("local-task"):
            command.append(f"--task_topology_group_count={threads}")
        _checked(command, timeout_s)
        profile = [find_tool("iree-profile"), "dispatch", "--format=jsonl", "--dispatch_events"]
        return read_profile(_checked([*profile, str(bundle)], timeout_s), runs)


def read_profile(text: str, runs: int) -> list[DispatchTime]:
    """Read the events that `iree-profile dispatch --format=jsonl --dispatch_events` printed."""
    events: list[tuple[int, str, float]] = []
    for line in text.splitlines():
        row = json.loads(line)
        if row["type"].endswith("dispatch_event") and row.get("valid", True):
            events.append((row["event_id"], row["key"], float(row["duration_ns"])))
    by_name: dict[str, list[float]] = {}
    for _, name, duration_ns in sorted(events):
        by_name.setdefault(name, []).append(duration_ns)
    times = []
    for name, durations in by_name.items():
        count = max(1, len(durations) // runs)
        calls = tuple(statistics.median(durations[call::count]) for call in range(count))
        times.append(DispatchTime(name, count, statistics.fmean(calls), calls))
    return times


def _input(array: Array, path: Path) -> str:
    path.write_bytes(array.tobytes())
    dims = "".join(f"{size}x" for size in array.shape)
    return f"--input={dims}{element_name(array.dtype)}=@{path}"


def _checked(command: Sequence[str], timeout_s: float) -> str:
    run = run_tool(command, timeout_s)
    if run.ended is not Ended.OK:
        tool = Path(command[0]).name
        reason = failure_reason(tool, run, timeout_s)
        raise LoweringError(tool, "a profile of the module", reason, "run it without a profile")
    return run.stdout
