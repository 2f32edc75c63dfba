"""Run and time whole modules, in a process that may hang or crash without harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from layoutopt.errors import LoweringError
from layoutopt.files.closing import Closing
from layoutopt.runtime.dispatch import DispatchTime, dispatch_events, dispatch_times
from layoutopt.runtime.element import Array, Value, load_array, save_array
from layoutopt.runtime.job import ArrayFile, Job, Task
from layoutopt.runtime.outcome import Measurement
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.setting import HERE, RunSetting
from layoutopt.runtime.signature import FunctionSignature, list_functions
from layoutopt.runtime.supervisor import Supervisor, Verdict
from layoutopt.runtime.workspace import workspace

__all__ = [
    "Caller",
    "DispatchTime",
    "FunctionSignature",
    "ModelCall",
    "Results",
    "RunSetting",
    "dispatch_events",
    "dispatch_times",
    "list_functions",
    "run_model",
    "time_models",
]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One function of a compiled module, and what it is called on."""

    module: Path
    function: str
    inputs: Sequence[Value]
    peer: str = ""
    """The runtime that runs ``module``, which is an ONNX model then; empty for IREE's own."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a call gave, or the reason why it gave nothing."""

    arrays: tuple[Array, ...] = ()
    reason: str = ""


class Caller(Closing):
    """Calls functions of compiled modules, in one process as long as no call ends it."""

    def __init__(self, setting: RunSetting = HERE) -> None:
        self._archives = setting.archives
        self._supervisor = _supervisor(setting)

    def run(self, calls: Sequence[ModelCall]) -> list[Results]:
        """Make each call once."""
        if not calls:
            return []
        with workspace() as folder:
            job = _job(calls, self._archives, folder, timing=None)
            verdicts = sorted(self._supervisor.run(job), key=lambda verdict: verdict.place)
            return [_results(verdict) for verdict in verdicts]

    def close(self) -> None:
        """End the process."""
        self._supervisor.close()


def _results(verdict: Verdict) -> Results:
    measurement = verdict.measurement
    if not measurement.ok:
        return Results((), f"{measurement.outcome.value} ({measurement.reason})")
    return Results(tuple(load_array(Path(f.path), f.element) for f in verdict.outputs))


def run_model(
    module: Path, function: str, inputs: Sequence[Value], setting: RunSetting = HERE
) -> list[Array]:
    """Call `function` once; LoweringError where it fails."""
    with Caller(setting) as caller:
        (found,) = caller.run([ModelCall(module, function, inputs)])
    if found.reason:
        raise LoweringError(
            f"{module.name}:@{function}",
            f"results on {setting.device}",
            found.reason,
            "compile it with other flags",
        )
    return list(found.arrays)


UNTIMED_NS = 20_000_000
"""So long a program runs until it finds caches and clocks as it leaves them itself, about: on a
server with AVX-512, calls of 4.5 ms took 5.0, 4.9, 4.7 and 4.7 behind those of another program, and
5.5, 5.0, 4.8 and 4.7 after a sleep. It counts for little in a call that is longer."""


def time_models(
    calls: Sequence[ModelCall],
    setting: RunSetting = HERE,
    most_samples: int = 31,
    budget_s: float = 10.0,
) -> list[Measurement]:
    """Time calls that do the same work, in turns, so that drift of the machine cancels.

    Each gets at least five samples of one call, after `UNTIMED_NS` of calls that do not count
    unless one is long: a program that runs nothing else finds the caches as it leaves them. One
    that takes twice the time of the fastest is done with three; sampling of the others ends when
    all medians are certain to 1 %, or each had `most_samples` or spent `budget_s`. A function that
    fails has a measurement that says how; the others are timed all the same.
    """
    protocol = Protocol(
        precision=0.01,
        budget_ns=round(budget_s * 1e9),
        sample_ns=1,
        untimed_ns=UNTIMED_NS,
        fewest_samples=5,
        most_samples=most_samples,
        cliff=2.0,
        cliff_samples=3,
        agreeing=0,
    )
    with workspace() as folder, _supervisor(setting) as supervisor:
        job = _job(calls, setting.archives, folder, protocol)
        found = sorted(supervisor.run(job), key=lambda verdict: verdict.place)
        return [verdict.measurement for verdict in found]


def _supervisor(setting: RunSetting) -> Supervisor:
    return Supervisor(setting.device, setting.threads, setting.timeout_s, setting.timeout_s)


def _job(
    calls: Sequence[ModelCall],
    archives: Sequence[tuple[str, Path]],
    folder: Path,
    timing: Protocol | None,
) -> Job:
    """One job of all calls; each set of inputs is written to `folder` once."""
    written: dict[int, tuple[ArrayFile, ...]] = {}
    for number, call in enumerate(calls):
        if id(call.inputs) not in written:
            written[id(call.inputs)] = tuple(
                _file(folder / f"input{number}_{i}.npy", value)
                for i, value in enumerate(call.inputs)
            )
    return Job(
        tasks=tuple(
            Task(
                place,
                str(c.module),
                c.function,
                written[id(c.inputs)],
                outputs=str(folder),
                peer=c.peer,
            )
            for place, c in enumerate(calls)
        ),
        protocol=timing or Protocol(),
        archives=tuple((scope, str(path)) for scope, path in archives),
        timed=timing is not None,
        together=True,
    )


def _file(path: Path, value: Value) -> ArrayFile:
    element = save_array(path, np.asarray(value))
    return ArrayFile(str(path), element, isinstance(value, np.generic))
