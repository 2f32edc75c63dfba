"""The original on this machine's CPU: a second opinion on what another device computes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from layoutopt.frontend.source import Source
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.element import Value
from layoutopt.runtime.model import Caller, Results
from layoutopt.runtime.setting import RunSetting
from layoutopt.verification.comparing import Archives, Run, run_on


def original_on_cpu(
    source: Source, archives: Archives, timeout_s: float, folder: Path
) -> Run | None:
    """Call functions of a model as it came; None where IREE does not compile it for the CPU."""
    host = load_target("host")
    output = folder / "original_on_cpu.vmfb"
    outcome = compile_file(source.path, output, (*source.phase_flags, *host.flags), timeout_s)
    if not outcome.ok:
        return None

    def run(function: str, inputs: Sequence[Sequence[Value]]) -> list[Results]:
        with Caller(RunSetting(host.device, 1, timeout_s, archives)) as caller:
            return run_on(output, caller)(function, inputs)

    return run
