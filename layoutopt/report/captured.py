"""Count constants that dispatches capture read-write, and the copies they cost.

Read from IREE's own compiled form: a dispatch result that is tied to an operand makes that operand
read-write (``-> %x`` in the flow phase); where the operand is a constant, the stream phase copies
it before the dispatch runs (``stream.cmd.copy``). A splat is not such a constant: it is filled in
each run anyway, as what lies around a pad is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.ir.graph import Constant, FromTensor, Graph, Structured
from layoutopt.options import Options
from layoutopt.report.report import CapturedReport
from layoutopt.runtime.compile import Phase, compile_to

_INDEX = re.compile(r"^\s*(%[\w$.]+) = arith\.constant (\d+) : index")
_LONGEST = 20_000
"""Characters of a line that are looked at: constants are printed in one line."""


@dataclass(frozen=True, slots=True)
class Captured:
    """Read-write captured constants, the copies of constants, and their bytes in one run."""

    readwrite: int
    copies: int
    copied_bytes: int


def starts_from_constant(graph: Graph) -> bool:
    """Whether some op writes over a constant of the model: only then is there much to count.

    A bias spread over an image is computed from constants: IREE does it in the same dispatch.
    """
    constants = {op.result for op in graph.ops if isinstance(op, Constant) and op.splat is None}
    return any(
        isinstance(init, FromTensor) and init.tensor in constants
        for op in graph.ops
        if isinstance(op, Structured) and not all(t in graph.constants for t in op.outputs)
        for init in op.inits
    )


def compare_captured(
    original: tuple[Path, tuple[str, ...]],
    optimized: tuple[Path, tuple[str, ...]],
    folder: Path,
    options: Options,
) -> CapturedReport | None:
    """Both counts of two modules, each given with its compile flags."""
    limit = options.compile_timeout_s
    before = count_captured(original[0], folder, original[1], limit)
    after = count_captured(optimized[0], folder, optimized[1], limit)
    if before is None or after is None:
        return None
    return CapturedReport(
        before.readwrite,
        after.readwrite,
        before.copies,
        after.copies,
        before.copied_bytes,
        after.copied_bytes,
    )


def count_captured(
    source: Path, folder: Path, flags: tuple[str, ...], timeout_s: float
) -> Captured | None:
    """Compile a module up to two phases and count; None where it does not compile."""
    flow, stream = folder / f"{source.stem}.flow.mlir", folder / f"{source.stem}.stream.mlir"
    flags = (*flags, *quirks().flags.without_values)
    for phase, output in ((Phase.FLOW, flow), (Phase.STREAM, stream)):
        if not compile_to(source, phase, output, flags, timeout_s).ok:
            return None
    with flow.open(encoding="utf-8", errors="replace") as lines:
        readwrite = count_readwrite(lines)
    with stream.open(encoding="utf-8", errors="replace") as lines:
        copies, size = count_copies(lines)
    return Captured(readwrite, copies, size)


def count_readwrite(lines: Iterable[str]) -> int:
    """Constants that results of dispatches are tied to, in text of the flow phase."""
    constants: set[str] = set()
    found = 0
    for line in lines:
        text = line[:_LONGEST]
        if text.lstrip().startswith(("util.func", "util.initializer")):
            constants.clear()
        constant = quirks().names.constant.match(text)
        if constant:
            constants.add(constant[1])
        elif quirks().names.call.search(text):
            tied = re.findall(r"%[\w$.]+", text.rsplit("->", 1)[1])
            found += sum(name in constants for name in tied)
    return found


def count_copies(lines: Iterable[str]) -> tuple[int, int]:
    """Copies of constants and their bytes, in text of the stream phase."""
    sizes: dict[str, int] = {}
    copies = 0
    size = 0
    for line in lines:
        text = line[:_LONGEST]
        index = _INDEX.match(text)
        if index:
            sizes[index[1]] = int(index[2])
        copy = quirks().names.constant_copy.search(text)
        if copy:
            copies += 1
            size += sizes.get(copy[1], 0)
    return copies, size
