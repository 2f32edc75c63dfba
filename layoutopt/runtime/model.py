"""Run and time whole modules, in a process that may hang or crash without harm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from layoutopt.errors import InputError, LoweringError
from layoutopt.runtime.binding import read_declarations
from layoutopt.runtime.dispatch import DispatchTime, dispatch_events, dispatch_times
from layoutopt.runtime.element import Array, load_array, save_array
from layoutopt.runtime.job import ArrayFile, Job, Task
from layoutopt.runtime.outcome import Measurement
from layoutopt.runtime.reason import runtime_reason
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.supervisor import Supervisor, Verdict
from layoutopt.runtime.workspace import workspace

__all__ = [
    "DispatchTime",
    "FunctionSignature",
    "dispatch_events",
    "dispatch_times",
    "list_functions",
    "run_model",
    "time_models",
]

_TYPE = re.compile(r"%\w+: ([\w!.]+(?:<[^>]*>)?)")


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """A function that a module exports, with the MLIR types of its arguments and results."""

    name: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]


def list_functions(module: Path) -> tuple[FunctionSignature, ...]:
    """Return the functions of a compiled module that can be called on tensors, in file order."""
    try:
        declarations = read_declarations(module)
    except (RuntimeError, ValueError, OSError) as error:
        raise InputError(
            str(module),
            "a module that iree-compile wrote",
            runtime_reason(error),
            "compile it again",
        ) from None
    return tuple(
        parse_declaration(name, declaration) for name, declaration in declarations if declaration
    )


def parse_declaration(name: str, declaration: str) -> FunctionSignature:
    """Parse `sync func @main(%input0: tensor<4xf32>) -> (%output0: tensor<4xf32>)`."""
    arguments, _, results = declaration.partition(" -> ")
    return FunctionSignature(name, tuple(_TYPE.findall(arguments)), tuple(_TYPE.findall(results)))


def run_model(
    module: Path,
    function: str,
    inputs: Sequence[Array],
    device: str = "local-sync",
    threads: int = 1,
    timeout_s: float = 120.0,
    archives: Sequence[tuple[str, Path]] = (),
) -> list[Array]:
    """Call `function` once; LoweringError where it fails. `archives` are (scope, parameters)."""
    with _verdicts(
        [(module, function)], inputs, device, threads, timeout_s, archives, timing=None
    ) as verdicts:
        verdict = verdicts[0]
        if not verdict.measurement.ok:
            raise LoweringError(
                f"{module.name}:@{function}",
                f"results on {device}",
                f"{verdict.measurement.outcome.value} ({verdict.measurement.reason})",
                "compile it with other flags",
            )
        return [load_array(Path(file.path), file.element) for file in verdict.outputs]


def time_models(
    models: Sequence[tuple[Path, str]],
    inputs: Sequence[Array],
    device: str = "local-sync",
    threads: int = 1,
    timeout_s: float = 120.0,
    archives: Sequence[tuple[str, Path]] = (),
    most_samples: int = 31,
    budget_s: float = 10.0,
) -> list[Measurement]:
    """Time functions that take the same inputs, in turns, so that drift of the machine cancels.

    `timeout_s` bounds one call. Each gets at least five samples of one call. One that takes twice
    the time of the fastest is done then; sampling of the others ends when all medians are certain
    to 1 %, or each had `most_samples` or spent `budget_s`. A function that fails has a measurement
    that says how; the others are timed all the same.
    """
    protocol = Protocol(
        precision=0.01,
        budget_ns=round(budget_s * 1e9),
        sample_ns=1,
        fewest_samples=5,
        most_samples=most_samples,
        cliff=2.0,
        cliff_samples=5,
        agreeing=0,
    )
    with _verdicts(models, inputs, device, threads, timeout_s, archives, protocol) as verdicts:
        return [verdict.measurement for verdict in verdicts]


@contextmanager
def _verdicts(
    models: Sequence[tuple[Path, str]],
    inputs: Sequence[Array],
    device: str,
    threads: int,
    timeout_s: float,
    archives: Sequence[tuple[str, Path]],
    timing: Protocol | None,
) -> Iterator[list[Verdict]]:
    """Run one job over `models`; files of results live as long as the context."""
    with workspace() as folder, Supervisor(device, threads, timeout_s, timeout_s) as supervisor:
        files = []
        for index, array in enumerate(inputs):
            path = folder / f"input{index}.npy"
            files.append(ArrayFile(str(path), save_array(path, array)))
        job = Job(
            tasks=tuple(
                Task(place, str(module), function, tuple(files), outputs=str(folder))
                for place, (module, function) in enumerate(models)
            ),
            protocol=timing or Protocol(),
            archives=tuple((scope, str(path)) for scope, path in archives),
            calibrated=False,
            timed=timing is not None,
            together=True,
        )
        yield sorted(supervisor.run(job), key=lambda verdict: verdict.place)
