"""Which dispatches of a module `iree-compile` does not take, where it ended without naming one.

A compiler that crashes or hangs in a kernel says nothing of it: what each kernel is made from is
written out, and compiled alone.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.runtime.compile import Phase, compile_file, compile_to
from layoutopt.runtime.tool_pool import tool_pool
from layoutopt.runtime.workspace import workspace

KERNEL_LIMIT_S = 30.0
"""Kernels compile in a second; one that takes so long hangs."""
_JOBS = 2


def refused_alone(source: Path, flags: tuple[str, ...], timeout_s: float) -> tuple[str, ...]:
    """Names of the dispatches of ``source`` that do not compile alone either; none where all do.

    What is not tried within ``timeout_s`` is not named.
    """
    own = quirks().flags
    ends = time.monotonic() + timeout_s
    with workspace() as folder, tool_pool(_JOBS) as pool:
        kernels = folder / "kernels"
        kernels.mkdir()
        written = (*flags, f"{own.dump_sources}{kernels}")
        compile_to(source, Phase.KERNELS, folder / "module.mlir", written, timeout_s)
        alone = partial(_refused, flags=(*flags, own.one_executable), ends=ends)
        found = pool.map(alone, sorted(kernels.glob("*.mlir")))
        return tuple(dict.fromkeys(name for names in found for name in names))


def _refused(kernel: Path, flags: tuple[str, ...], ends: float) -> list[str]:
    """The dispatches of a kernel that does not compile until then."""
    limit_s = min(KERNEL_LIMIT_S, ends - time.monotonic())
    if limit_s <= 0 or compile_file(kernel, kernel.with_suffix(".bin"), flags, limit_s).ok:
        return []
    return quirks().names.exported.findall(kernel.read_text())
