"""A disk that has no room left: one line, and no output that is half written."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.models import CONVOLUTIONS

OUTPUTS = ("out.mlir", "report.json", "page.html", "plan.json")


@pytest.mark.parametrize("room_bytes", [4000, 40_000])
def test_files_may_not_grow(tmp_path: Path, room_bytes: int) -> None:
    """A bound on the size of files ends writes like a full disk does."""
    (tmp_path / "model.mlir").write_text(CONVOLUTIONS)
    command = [sys.executable, "-m", "layoutopt", "optimize", "model.mlir", "--cache=cache",
               "--profile=x86-64-avx512", "-o", "out.mlir", "--report=report.json",
               "--html=page.html", "--plan-out=plan.json"]  # fmt: skip
    limits = (room_bytes, room_bytes)
    run = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits),
    )
    assert run.returncode in (1, 2)
    lines = [line for line in run.stderr.splitlines() if not line.endswith(" ...")]
    assert len(lines) == 1, run.stderr
    assert re.fullmatch(r".+: expected .+, but got .+; .+", lines[0])
    written = [tmp_path / name for name in OUTPUTS if (tmp_path / name).exists()]
    assert all(path.stat().st_size for path in written)
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]
