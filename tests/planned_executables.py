"""What the compiler makes of a plan, also of one that is slower than the original."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path

import pytest

from layoutopt.runtime.compile import find_tool
from layoutopt.verification.modules import Modules


def compile_plans(monkeypatch: pytest.MonkeyPatch, path: Path, phase: str) -> None:
    """Compile each planned module up to ``phase`` into ``path``, before anything is timed.

    An original that is faster, or happens to be on a busy machine, is written in its place.
    """
    stages = importlib.import_module("layoutopt.pipeline.stages")
    held = stages.compare_with_original

    def compared(modules: Modules, *arguments: object) -> object:
        command = (find_tool("iree-compile"), str(modules.optimized), *modules.flags)
        run = (*command, f"--compile-to={phase}", "-o", str(path))
        subprocess.run(run, capture_output=True, timeout=300, check=True)
        return held(modules, *arguments)

    monkeypatch.setattr(stages, "compare_with_original", compared)
