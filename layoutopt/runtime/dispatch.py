"""Times of the dispatches inside a whole module, from IREE's own device profiler."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from layoutopt.compiler.installed import quirks
from layoutopt.errors import LoweringError
from layoutopt.runtime.awake import cores_awake
from layoutopt.runtime.binding import read_declarations
from layoutopt.runtime.element import Value, element_name
from layoutopt.runtime.process import Ended, find_tool, keeping_memory, run_tool
from layoutopt.runtime.reason import failure_reason
from layoutopt.runtime.sampling import fastest_ns
from layoutopt.runtime.setting import HERE, RunSetting
from layoutopt.runtime.topology import topology_flag
from layoutopt.runtime.transport import as_declared, sent
from layoutopt.runtime.workspace import workspace


def dispatch_events(device: str) -> str | None:
    """What a device's driver calls the times of dispatches; None where it has none."""
    return quirks().flags.dispatch_events.get(device.partition("://")[0])


@dataclass(frozen=True, slots=True)
class DispatchTime:
    """One dispatch function: calls per run and mean time of a call in nanoseconds.

    `calls_ns` has each of its calls in order of execution: the mean of the three fastest runs,
    as prices are. Of time that several calls run in side by side, each has an equal share.
    """

    name: str
    count: int
    mean_ns: float
    calls_ns: tuple[float, ...]


def dispatch_times(
    module: Path,
    function: str,
    inputs: Sequence[Value],
    setting: RunSetting = HERE,
    runs: int = 10,
) -> list[DispatchTime]:
    """Profile `runs` calls and return the dispatches in order of first execution.

    What runs when the module is loaded, such as packing of parameters, is not in it. Raises
    LoweringError where the module does not run, or the driver does not time dispatches.
    """
    events = dispatch_events(setting.device)
    if events is None:
        raise LoweringError(
            setting.device,
            f"a driver that times dispatches ({', '.join(quirks().flags.dispatch_events)})",
            "one that does not",
            "run it without a profile",
        )
    passed = as_declared(inputs, dict(read_declarations(module)).get(function, ""))
    with workspace() as folder:
        bundle = folder / "run.ireeprof"
        command = [
            find_tool("iree-benchmark-module"),
            f"--module={module}",
            f"--function={function}",
            f"--device={setting.device}",
            *(f"--parameters={scope}={path}" for scope, path in setting.archives),
            *(_input(array, folder / f"{index}.bin") for index, array in enumerate(passed)),
            f"--benchmark_min_time={runs}x",
            f"--device_profiling_mode={events},executable-metadata",
            f"--device_profiling_output={bundle}",
        ]
        has_workers = setting.device.startswith("local-task")
        if has_workers:
            command.append(topology_flag(setting.threads))
        with cores_awake(has_workers):
            _checked(command, setting.timeout_s)
        profile = [find_tool("iree-profile"), "dispatch", "--format=jsonl", "--dispatch_events"]
        return read_profile(_checked([*profile, str(bundle)], setting.timeout_s), runs)


def read_profile(text: str, runs: int) -> list[DispatchTime]:
    """Read the events that `iree-profile dispatch --format=jsonl --dispatch_events` printed.

    Events of a device count where its clock could be fitted to the host's.
    """
    events: list[tuple[int, str, float]] = []
    spans: list[tuple[int, int]] = []
    for line in text.splitlines():
        row = json.loads(line)
        timed = row.get("valid", True) and row.get("derived_time_available", True)
        if row["type"].endswith("dispatch_event") and timed:
            events.append((row["event_id"], row["key"], float(row["duration_ns"])))
            if "start_host_time_ns" in row:
                spans.append((row["start_host_time_ns"], row["end_host_time_ns"]))
    if len(spans) == len(events):
        shares = _shares(spans)
        events = [(*event[:2], share) for event, share in zip(events, shares, strict=True)]
    by_name: dict[str, list[float]] = {}
    for _, name, duration_ns in sorted(events):
        by_name.setdefault(name, []).append(duration_ns)
    times = []
    for name, durations in by_name.items():
        count = max(1, len(durations) // runs)
        calls = tuple(fastest_ns(durations[call::count]) for call in range(count))
        times.append(DispatchTime(name, count, statistics.fmean(calls), calls))
    return times


def _shares(spans: Sequence[tuple[int, int]]) -> list[float]:
    """What each of some spans has of time, which is parted between those that go on at once."""
    changes: dict[int, int] = {}
    for start, end in spans:
        changes[start] = changes.get(start, 0) + 1
        changes[end] = changes.get(end, 0) - 1
    passed: dict[int, float] = {}
    so_far, active, last = 0.0, 0, 0
    for moment in sorted(changes):
        if active:
            so_far += (moment - last) / active
        passed[moment] = so_far
        active += changes[moment]
        last = moment
    return [passed[end] - passed[start] for start, end in spans]


def _input(array: Value, path: Path) -> str:
    if isinstance(array, np.generic):
        return f"--input={float(array) if isinstance(array, np.floating) else int(array)}"
    path.write_bytes(sent(array)[0].tobytes())
    dims = "".join(f"{size}x" for size in array.shape)
    element = element_name(array.dtype)
    return f"--input={dims}{quirks().types.tool_names.get(element, element)}=@{path}"


def _checked(command: Sequence[str], timeout_s: float) -> str:
    run = run_tool(command, timeout_s, keeping_memory())
    if run.ended is not Ended.OK:
        tool = Path(command[0]).name
        reason = failure_reason(tool, run, timeout_s)
        raise LoweringError(tool, "a profile of the module", reason, "run it without a profile")
    return run.stdout
