"""MLIR that a user gives, read by a process of its own first and written again as bytecode.

MLIR's readers trust their input: damaged bytecode, or text that is nested too deep, ends the
process that reads it. Here that is ``iree-opt``; what it writes is read in this process after it.
"""

from __future__ import annotations

import re
from pathlib import Path

from layoutopt.errors import InputError
from layoutopt.runtime.process import Ended, ToolRun, find_tool, run_tool
from layoutopt.runtime.reason import REASON_LENGTH, failure_reason

TIMEOUT_S = 300.0
"""A text of 200 MB takes two seconds."""
_ERROR = re.compile(r"^.*?:(\d+):(\d+): error: (.*)")
_SHARDY = re.compile(r"ialect [`']sdy'")
_WITHOUT_SHARDY = (
    "export it behind `jax.config.update('jax_use_shardy_partitioner', False)`, which says where "
    "tensors lie in another way"
)
_FIXED_BYTES = 8 << 30
_BYTES_PER_BYTE = 32
"""Of memory that may be mapped, for each byte of the file."""


def reread(
    module: Path,
    output: Path,
    next_step: str,
    timeout_s: float = TIMEOUT_S,
    passes: tuple[str, ...] = (),
) -> None:
    """Write what ``module`` holds to ``output`` as bytecode, behind passes if there are any.

    Raises InputError, with line and column in a text, where it is not MLIR that verifies.
    """
    command = [find_tool("iree-opt"), str(module), *passes, "--emit-bytecode", "-o", str(output)]
    limit = _FIXED_BYTES + _BYTES_PER_BYTE * module.stat().st_size
    run = run_tool(command, timeout_s, memory_bytes=limit)
    if run.ended is not Ended.OK:
        place, told = _first_error(module, run, timeout_s)
        if _SHARDY.search(told):
            raise InputError(place, "dialects that IREE reads", "Shardy (sdy)", _WITHOUT_SHARDY)
        raise InputError(place, "MLIR that parses", told, next_step)


def _first_error(module: Path, run: ToolRun, timeout_s: float) -> tuple[str, str]:
    """Where the first error is, and what it says."""
    if run.ended is Ended.ERROR:
        for line in run.stderr.splitlines():
            if found := _ERROR.match(line):
                place = str(module) if found[1] == "0" else f"{module}:{found[1]}:{found[2]}"
                return place, found[3].strip()[:REASON_LENGTH]
    return str(module), failure_reason("iree-opt", run, timeout_s)
