"""How a run on a damaged file may end: with one line of a known form, and nothing half written."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.mutated_inputs.contained import Ended

_PROGRESS = re.compile(r"[a-z][a-zA-Z ]* \.\.\.")
_LINE = re.compile(r".+: expected .+, but got .+; .+")
_NOTE = re.compile(r"layoutopt: note: .+")
_CODES = (0, 1, 2)
_TRACE = "Traceback (most recent call last)"


def fault(ended: Ended, folder: Path, outputs: tuple[str, ...]) -> str | None:
    """What is wrong with a run, None where nothing is."""
    if ended.code is None:
        return "it did not end"
    if _TRACE in ended.stderr or _TRACE in ended.stdout:
        return f"traceback: {ended.stderr.strip().splitlines()[-1]}"
    if ended.code not in _CODES:
        return f"exit code {ended.code}: {ended.stderr.strip()[-300:]}"
    lines = [li for li in ended.stderr.splitlines() if li and not _PROGRESS.fullmatch(li)]
    lines = [line for line in lines if not _NOTE.fullmatch(line)]
    if ended.code and (len(lines) != 1 or not _LINE.fullmatch(lines[0])):
        return f"expected one line, but got {lines!r}"
    if not ended.code and lines:
        return f"expected success to be silent, but got {lines!r}"
    return _half_written(ended, folder, outputs)


def _half_written(ended: Ended, folder: Path, outputs: tuple[str, ...]) -> str | None:
    left = [path.name for path in folder.iterdir() if "partial" in path.name]
    if left:
        return f"left behind: {', '.join(left)}"
    for name in outputs:
        path = folder / name
        if not path.exists():
            if ended.code == 0:
                return f"{name} is missing"
        elif not _is_complete(path):
            return f"{name} is not whole"
    return None


def _is_complete(path: Path) -> bool:
    if path.suffix == ".json":
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            return False
    return path.suffix != ".mlir" or path.read_bytes().rstrip().endswith(b"}")
