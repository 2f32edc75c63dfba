from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from layoutopt.runtime.workspace import clear_leftovers, workspace


def test_a_workspace_is_gone_afterwards() -> None:
    folders = []

    def interrupted() -> None:
        with workspace() as folder:
            folders.append(folder)
            (folder / "file").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not folders[0].exists()


def test_leftovers_of_dead_processes_are_cleared(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    names = [f"layoutopt-{dead.pid}-old", f"layoutopt-{dead.pid}-new", f"layoutopt-{os.getpid()}-x"]
    for name in (*names, "layoutopt-notes-old", "other"):
        (tmp_path / name).mkdir()
        if not name.endswith("new"):
            os.utime(tmp_path / name, (0, 0))
    clear_leftovers(tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted([*names[1:], "layoutopt-notes-old", "other"])
