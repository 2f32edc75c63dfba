"""The kernels of published timings: what the release of IREE that was timed makes of each row.

Releases before 3.13 name a kernel by its place in its executable, which is said here as 3.13 does.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from layoutopt.compiler.installed import installed_version
from layoutopt.pricing.analytic.compiled.read_module import KernelReader, Step
from layoutopt.pricing.analytic.compiled_kernels import dumps_of
from layoutopt.runtime.process import find_tool
from layoutopt.runtime.workspace import workspace
from tests.benchmarks.published_rows import FUNCTION, Row

_LIMIT_S = 200.0
_LOADED = re.compile(r"(%[\w-]+) = util\.global\.load .*@__device_0_executable_\d+_(\S+) : ")
_DISPATCHED = re.compile(r"target\((%[\w-]+) : !hal\.executable\)\[%c(\d+)(?:_\d+)?\] workgroups")
_KERNEL = re.compile(r"\.amdhsa_kernel (\S+)")
_BY_NAME = "hal.executable.lookup.function"


def compiled_rows(
    rows: Sequence[Row], known: Mapping[str, tuple[Step, ...]], compilers: Mapping[str, str]
) -> dict[str, tuple[Step, ...]]:
    """Kernels of each row, compiled where they are not known; what does not compile is told.

    ``compilers``: ``iree-compile`` of releases beside the one that is installed.
    """
    own = ".".join(installed_version().split(".")[:2])
    tools = {own: find_tool("iree-compile"), **compilers}
    found = dict(known)
    for row in rows:
        if row.key in found:
            continue
        if row.release not in tools:
            sys.stderr.write(f"{row.key}: expected --compiler {row.release}=PATH, but got none\n")
            continue
        with workspace() as folder:
            steps, reason = _compiled(row, tools[row.release], folder)
        if reason:
            sys.stderr.write(f"{row.key}: {reason}\n")
        else:
            found[row.key] = steps
    return found


def _compiled(row: Row, tool: str, folder: Path) -> tuple[tuple[Step, ...], str]:
    """The steps of a row, or why there are none."""
    source, host = folder / "row.mlir", folder / "row.hal.mlir"
    source.write_text(row.text, encoding="utf-8")
    dumps = dumps_of(host)
    dumps.mkdir()
    dump = f"--iree-hal-dump-executable-intermediates-to={dumps}"
    command = [tool, str(source), "-o", str(host), "--compile-to=hal", *_spelled(row), dump]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    if ran.returncode:
        return (), ran.stderr.strip().partition("\n")[0]
    text = host.read_text(encoding="utf-8", errors="replace")
    if _BY_NAME not in text:
        host.write_text("\n".join(_by_name(text, dumps)), encoding="utf-8")
    steps = KernelReader().steps(host, dumps)[FUNCTION]
    return steps, next((step.reason for step in steps if step.reason), "")


def _spelled(row: Row) -> Iterator[str]:
    """Its flags as its release spells them."""
    older = tuple(map(int, row.release.split("."))) < (3, 9)
    for flag in row.flags:
        yield flag.replace("--iree-rocm-target", "--iree-hip-target") if older else flag


def _by_name(text: str, dumps: Path) -> Iterator[str]:
    """The host program with kernels looked up by name."""
    kernels = {
        path.name.removeprefix("module_").partition("_rocm_hsaco")[0]: _KERNEL.findall(
            path.read_text(encoding="utf-8")
        )
        for path in dumps.glob("*.rocmasm")
    }
    executables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines()):
        loaded, dispatched = _LOADED.search(line), _DISPATCHED.search(line)
        if loaded:
            executables[loaded[1]] = loaded[2]
        if dispatched:
            kernel = kernels[executables[dispatched[1]]][int(dispatched[2])]
            name = f"%function_{number}"
            yield f"    {name} = {_BY_NAME} executable({dispatched[1]}) function(::@{kernel})"
            place = line.index("[", dispatched.start())
            line = f"{line[:place]}[{name}]{line[line.index(']', place) + 1 :]}"  # noqa: PLW2901
        yield line
