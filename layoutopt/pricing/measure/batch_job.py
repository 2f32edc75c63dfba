"""Turn a compiled batch into a job: real arrays on disk, one task a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from layoutopt.errors import InputError
from layoutopt.mlir.write.many_launches import SUFFIX
from layoutopt.pricing.measure.batch import function_name, weight_prefix
from layoutopt.pricing.measure.batch_compile import Compiled
from layoutopt.pricing.measure.benchmark import Operand, Result
from layoutopt.runtime.element import Array, parse_tensor_type, save_array
from layoutopt.runtime.job import ArrayFile, Job, Task
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.transport import demoted


def batch_job(compiled: Compiled, groups: Sequence[int], folder: Path, protocol: Protocol) -> Job:
    """Write the arrays of a module's candidates to `folder` and return the job.

    `groups` runs along the whole request. Task places are places in the batch.
    """
    tasks = []
    weights: list[tuple[str, ArrayFile]] = []
    for place, benchmark in enumerate(compiled.batch.benchmarks):
        prefix = weight_prefix(place)
        case = benchmark.case()
        arguments = _save(folder, f"c{place}_x", benchmark.arguments, case.arguments)
        launches = protocol.launching.of(benchmark.moved_bytes)
        own_weights = _save(folder, prefix, benchmark.weights, case.weights, as_parameters=True)
        weights += [(f"{prefix}_{index}", file) for index, file in enumerate(own_weights)]
        tasks.append(
            Task(
                place=place,
                module=str(compiled.module),
                function=function_name(place),
                many=f"{function_name(place)}{SUFFIX}" if launches > 1 else "",
                arguments=arguments,
                results=()
                if case.unchecked
                else _save(folder, f"c{place}_y", benchmark.results, case.results),
                allowed=_save_allowed(folder, f"c{place}_e", case.allowed),
                note=case.unchecked,
                as_it_came=benchmark.as_it_came,
                group=groups[compiled.batch.order[place]],
                reads_weights=bool(benchmark.weights),
            )
        )
    return Job(tasks=tuple(tasks), protocol=protocol, weights=tuple(weights))


def _save(
    folder: Path,
    prefix: str,
    values: Sequence[Operand | Result],
    arrays: Sequence[Array],
    as_parameters: bool = False,
) -> tuple[ArrayFile, ...]:
    if len(values) != len(arrays):
        raise InputError(
            prefix, f"{len(values)} arrays", str(len(arrays)), "correct the candidate's case"
        )
    files = []
    for index, (value, array) in enumerate(zip(values, arrays, strict=True)):
        wanted = parse_tensor_type(value.type)
        if not wanted.holds(array.shape) or array.dtype != wanted.dtype:
            got = f"{array.dtype} of shape {array.shape}"
            raise InputError(value.name, value.type, got, "correct the candidate's case")
        path = folder / f"{prefix}_{index}.npy"
        kept = demoted(array) if as_parameters else array
        files.append(ArrayFile(str(path), save_array(path, kept)))
    return tuple(files)


def _save_allowed(folder: Path, prefix: str, arrays: Sequence[Array]) -> tuple[ArrayFile, ...]:
    files = []
    for index, array in enumerate(arrays):
        path = folder / f"{prefix}_{index}.npy"
        files.append(ArrayFile(str(path), save_array(path, array)))
    return tuple(files)
