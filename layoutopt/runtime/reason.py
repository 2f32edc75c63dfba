"""One line that says why a tool or the runtime failed, out of the many that it printed."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.runtime.process import IDLE_S, Ended, ToolRun

REASON_LENGTH = 300
_ROOM_BYTES = 1 << 16
"""Less than this free, and a tool cannot even write its error message."""
_LOCATED = re.compile(r"^(?:(.*?):)?(\d+):\d+: error: (.*)")
_SOURCE = re.compile(r"\S+\.(?:c|cc|cpp|h):\d+: ")


def failure_reason(tool: str, run: ToolRun, timeout_s: float) -> str:
    """Say why `run` of `tool` failed; empty where it did not."""
    if run.ended is Ended.OK:
        return ""
    if run.ended is Ended.TIMEOUT:
        return f"{tool} did not finish within {timeout_s:g} s"
    if run.ended is Ended.IDLE:
        return f"{tool} hangs: it did nothing for {IDLE_S:g} s"
    if run.ended is Ended.CRASH:
        return f"{tool} crashed ({run.signal_name})"
    if told := first_error(run.stderr):
        return told
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < _ROOM_BYTES:
        return f"no room left in {folder}, where {tool} works"
    return f"{tool} failed without an error message"


def refused_dispatches(text: str) -> tuple[str, ...]:
    """The names of the dispatches that an error message shows, each once."""
    return tuple(dict.fromkeys(quirks().names.refused.findall(text)))


def first_error(text: str) -> str:
    """Return the first `error:` line without its location, else the last line there is."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if "error: " in line:
            return line.partition("error: ")[2][:REASON_LENGTH]
    return lines[-1][:REASON_LENGTH] if lines else ""


def located_errors(text: str, dumps: Path | None = None) -> dict[int, str]:
    """The lines of the source (from 1) that errors point at, with the first error of each.

    ``dumps``: where the compiler writes its code to; errors then also point at files there.
    """
    found: dict[int, str] = {}
    for path, line, said in _located(text):
        if dumps is None or path.parent != dumps:
            found.setdefault(line, said)
    return dict(sorted(found.items()))


def errors_of_dumps(text: str, dumps: Path) -> dict[str, str]:
    """The files of ``dumps``, by name without suffix, that errors point at; the first of each."""
    found: dict[str, str] = {}
    for path, _, said in _located(text):
        if path.parent == dumps:
            found.setdefault(path.stem, said)
    return found


def _located(text: str) -> Iterator[tuple[Path, int, str]]:
    for line in text.splitlines():
        if match := _LOCATED.match(line.strip()):
            yield Path(match[1] or ""), int(match[2]), match[3][:REASON_LENGTH]


def runtime_reason(error: Exception) -> str:
    """Return the first line of an exception of IREE's runtime, without places in its C sources."""
    text = str(error).strip() or type(error).__name__
    return _SOURCE.sub("", text.splitlines()[0])[:REASON_LENGTH]
