"""Compile candidates for a GPU that is not here and read what the compiler made of them.

Many candidates share a module. What was read is kept as JSON lines beside the price store, under
the candidate's key: its text, its flags, the target and the version of IREE.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from layoutopt.compiler.installed import quirks
from layoutopt.files.given import read_input
from layoutopt.pricing.analytic.compiled.host_program import NO_SHAPES, Given, Shapes
from layoutopt.pricing.analytic.compiled.read_module import (
    DOES_NOTHING,
    KernelReader,
    Step,
)
from layoutopt.pricing.measure.batch import function_name, make_batches
from layoutopt.pricing.measure.batch_compile import BatchCompiler, Compiled
from layoutopt.pricing.measure.benchmark import PASSED_TYPE, Benchmark
from layoutopt.runtime.compile import CompileOutcome, Phase, compile_to, for_candidates
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.progress import Progress
from layoutopt.runtime.version import iree_version
from layoutopt.runtime.workspace import workspace

LOG = logging.getLogger(__name__)

BATCH = 12
"""Candidates of one module: starting the compiler costs as much as three kernels."""
READER = 9
"""Version of what is read. It is part of every key: a new reader makes old facts void."""
OF_MODULES = 1
"""The same for what is read of whole modules alone."""


class Facts(msgspec.Struct, frozen=True):
    """What a candidate runs; a refusal has a `reason`, and no steps unless these show it."""

    key: str
    steps: tuple[Step, ...] = ()
    reason: str = ""
    held_bytes: int | None = None
    """Memory that one call of a whole module holds at most, results included, arguments and weights
    aside; None where that is known at run time only."""

    @property
    def not_understood(self) -> str:
        """Why a kernel of it was not understood; empty where all were."""
        return next((step.reason for step in self.steps if step.reason), "")

    @property
    def timed_out(self) -> bool:
        """Whether the compiler did not end in time."""
        return self.reason.startswith(Outcome.COMPILE_TIMEOUT.value)


class Kernels:
    """Compiled kernels of one target, remembered in `path`."""

    def __init__(self, path: Path, target: str, jobs: int = 2, timeout_s: float = 60.0) -> None:
        self._path = path
        self._target = target
        self._jobs = jobs
        self._timeout_s = timeout_s
        self._known = {facts.key: facts for facts in _remembered(path)}
        self._reader = KernelReader()

    def known(self, benchmarks: Sequence[Benchmark]) -> list[Facts | None]:
        """What was read before, in order; None for the others."""
        return [self._known.get(self._key(benchmark)) for benchmark in benchmarks]

    def read(self, benchmarks: Sequence[Benchmark], progress: Progress) -> list[Facts]:
        """What each candidate runs, in order; what is new is on disk as soon as it is known."""
        keys = [self._key(benchmark) for benchmark in benchmarks]
        missing = {k: b for k, b in zip(keys, benchmarks, strict=True) if k not in self._known}
        progress.total(len(missing))
        progress.description(f"compiling {len(missing)} candidates")
        if missing:
            with workspace() as folder:
                self._compile(missing, folder, progress)
        return [self._known[key] for key in keys]

    def module(
        self,
        path: Path,
        flags: tuple[str, ...],
        timeout_s: float,
        calls: Sequence[Shapes] = (NO_SHAPES,),
    ) -> tuple[Facts, ...]:
        """What calls of a whole module run, each of its blocks once.

        ``calls``: for each the shapes of arguments, by function, where sizes are open.
        """
        keys = [self._module_key(path, flags, call) for call in calls]
        if all(key in self._known for key in keys):
            return tuple(self._known[key] for key in keys)
        with workspace() as folder:
            output = folder / "module.hal.mlir"
            outcome = _dumped(path, output, flags, timeout_s)
            reason = "" if outcome.ok else f"{outcome.outcome.value}: {outcome.reason}"
            found = tuple(Facts(key, reason=reason) for key in keys)
            if outcome.ok:
                read = [self._reader.one_call(output, dumps_of(output), call) for call in calls]
                found = tuple(
                    Facts(key, steps, _miscompiled(steps), held_bytes)
                    for key, (steps, held_bytes) in zip(keys, read, strict=True)
                )
        if found[0].timed_out:
            return found  # on a quiet machine it may do
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            for facts in found:
                file.write(msgspec.json.encode(facts) + b"\n")
                self._known[facts.key] = facts
        return found

    def _module_key(self, path: Path, flags: tuple[str, ...], call: Shapes) -> str:
        digest = hashlib.sha256()
        reader = f"{self._target} reader {READER}.{OF_MODULES}"
        sizes = [f"{name}: {sorted(one.items())}" for name, one in sorted(call.items())]
        for part in (reader, iree_version(), *flags, *sizes):
            digest.update(f"{part}\n".encode())
        with path.open("rb") as file:
            for piece in iter(lambda: file.read(1 << 20), b""):
                digest.update(piece)
        return digest.hexdigest()

    def _key(self, benchmark: Benchmark) -> str:
        return benchmark.key(f"{self._target} reader {READER}", iree_version())

    def _compile(self, missing: dict[str, Benchmark], folder: Path, progress: Progress) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        keys, benchmarks = tuple(missing), tuple(missing.values())
        places = range(len(keys))
        batches = make_batches(benchmarks, places, places, BATCH, self._jobs)
        compiler = BatchCompiler(lambda _: compile_kernels, folder, self._jobs, self._timeout_s)
        with self._path.open("ab") as file:
            for found in compiler.run(batches):
                if isinstance(found, Compiled):
                    new = self._read(found, keys, benchmarks)
                else:
                    measurement = found.measurement
                    reason = f"{measurement.outcome.value}: {measurement.reason}"
                    new = [Facts(keys[place], reason=reason) for place in found.batch.order]
                for facts in new:
                    file.write(msgspec.json.encode(facts) + b"\n")
                    self._known[facts.key] = facts
                    progress.advance()
                file.flush()

    def _read(
        self, found: Compiled, keys: Sequence[str], benchmarks: Sequence[Benchmark]
    ) -> list[Facts]:
        dumps = dumps_of(found.module)
        shapes = {
            function_name(place): _given(benchmarks[order])
            for place, order in enumerate(found.batch.order)
        }
        functions = self._reader.steps(found.module, dumps, shapes)
        shutil.rmtree(dumps)
        made = [functions.get(function_name(p), ()) for p in range(len(found.batch.order))]
        return [
            Facts(keys[order], steps, _miscompiled(steps))
            for order, steps in zip(found.batch.order, made, strict=True)
        ]


def _miscompiled(steps: Sequence[Step]) -> str:
    """Why a module cannot be right; empty where nothing shows."""
    found = next((step for step in steps if step.reason == DOES_NOTHING), None)
    if found is None:
        return ""
    return f"{Outcome.MISMATCH.value}: {found.name}: {DOES_NOTHING}"


def _given(benchmark: Benchmark) -> Given:
    """What a candidate is called with, where sizes are open."""
    pairs = zip(benchmark.arguments, benchmark.sizes, strict=False)
    return {i: n[0] if a.type == PASSED_TYPE else n for i, (a, n) in enumerate(pairs)}


def compile_kernels(
    source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
) -> CompileOutcome:
    """Compile kernels and write the program that calls them; their code lies in `dumps_of`."""
    return _dumped(source, output, for_candidates(flags), timeout_s)


def _dumped(
    source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
) -> CompileOutcome:  # fmt: skip
    dumps = dumps_of(output)
    dumps.mkdir(exist_ok=True)
    flags = (*flags, *quirks().flags.without_values)
    return compile_to(source, Phase.HAL, output, flags, timeout_s, dumps)


def dumps_of(module: Path) -> Path:
    """The folder with the code of a module's kernels."""
    return module.with_name(f"{module.name}.kernels")


def _remembered(path: Path) -> Iterator[Facts]:
    """Facts from earlier runs.

    A line that a killed run left half written is skipped, and so is one that an earlier version
    wrote with other fields.
    """
    if not path.is_file():
        return
    for line in read_input(path).splitlines():
        try:
            yield msgspec.json.decode(line, type=Facts)
        except msgspec.ValidationError:
            continue
        except msgspec.DecodeError as error:
            LOG.warning("%s: a damaged line (%s), so its kernel is compiled anew", path, error)
