"""Compile candidates for a GPU that is not here and read what the compiler made of them.

Facts are kept as JSON lines beside the price store, under the candidate's key.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from layoutopt.compiler.installed import quirks
from layoutopt.files.given import read_input
from layoutopt.pricing.analytic.kernel import Kernel, read_kernels
from layoutopt.pricing.measure.batch import Batch, write_module
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.runtime.compile import compile_candidates
from layoutopt.runtime.progress import Progress
from layoutopt.runtime.tool_pool import tool_pool
from layoutopt.runtime.version import iree_version
from layoutopt.runtime.workspace import workspace

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Facts:
    """The main kernel of a candidate, None where it has none; a refusal has a `reason`."""

    kernel: Kernel | None
    reason: str = ""


class Kernels:
    """Compiled facts of one target, remembered in `path`."""

    def __init__(self, path: Path, target: str, jobs: int = 2, timeout_s: float = 60.0) -> None:
        self._path = path
        self._target = target
        self._jobs = jobs
        self._timeout_s = timeout_s
        self._known = dict(_remembered(path))

    def read(self, benchmarks: Sequence[Benchmark], progress: Progress) -> list[Facts]:
        """Facts per candidate, in order; each new one is on disk as soon as it is known."""
        keys = [benchmark.key(self._target, iree_version()) for benchmark in benchmarks]
        missing = {k: b for k, b in zip(keys, benchmarks, strict=True) if k not in self._known}
        progress.total(len(missing))
        progress.description(f"compiling {len(missing)} candidates")
        if missing:
            with workspace() as folder:
                self._compile(missing, folder, progress)
        return [self._known[key] for key in keys]

    def _compile(self, missing: dict[str, Benchmark], folder: Path, progress: Progress) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with tool_pool(self._jobs) as pool:
            found = pool.map(lambda item: self._facts(folder / item[0], item[1]), missing.items())
            with self._path.open("a", encoding="utf-8") as file:
                for key, facts in zip(missing, found, strict=True):
                    file.write(json.dumps({"key": key, **asdict(facts)}) + "\n")
                    file.flush()
                    self._known[key] = facts
                    progress.advance()

    def _facts(self, folder: Path, benchmark: Benchmark) -> Facts:
        folder.mkdir()
        source = folder / "candidate.mlir"
        source.write_text(write_module(Batch((benchmark,), (0,)), calibrated=False).text)
        flags = (*benchmark.flags, f"{quirks().flags.dump}{folder}")
        outcome = compile_candidates(source, folder / "candidate.vmfb", flags, self._timeout_s)
        if not outcome.ok:
            return Facts(None, f"{outcome.outcome.value}: {outcome.reason}")
        kernels = read_kernels(folder)
        return Facts(max(kernels, key=_weight, default=None))


def _weight(kernel: Kernel) -> tuple[int, int, int]:
    """Which kernel of a candidate is its contraction: the one that multiplies matrices."""
    return kernel.matrix_instructions, kernel.lds_bytes, kernel.vgprs


class _Row(msgspec.Struct):
    key: str
    kernel: Kernel | None
    reason: str


def _remembered(path: Path) -> Iterator[tuple[str, Facts]]:
    """Facts from earlier runs; a line that a killed run left half written is skipped."""
    if not path.is_file():
        return
    for line in read_input(path).splitlines():
        try:
            row = msgspec.json.decode(line, type=_Row)
        except msgspec.DecodeError as error:
            LOG.warning("%s: a damaged line (%s), so its kernel is compiled anew", path, error)
            continue
        yield row.key, Facts(row.kernel, row.reason)
