"""Tools that run behind others are stopped while something is timed, and end with their parent."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from layoutopt.compiler.installed import quirks
from layoutopt.runtime import compile as compile_module
from layoutopt.runtime.behind import Behind, alone, can_run_behind, stopped_s
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.process import Ended, ToolRun, run_tool

pytestmark = pytest.mark.skipif(not can_run_behind(), reason="the system can't end what is stopped")

COUNTS = """
import sys, time
for i in range(10_000):
    with open(sys.argv[1], "a") as file:
        file.write("x")
    time.sleep(0.01)
"""


def started(
    behind: Behind, command: list[str], timeout_s: float = 60.0
) -> tuple[threading.Thread, list[ToolRun]]:
    runs: list[ToolRun] = []
    thread = threading.Thread(
        target=lambda: runs.append(run_tool(command, timeout_s, behind=behind))
    )
    thread.start()
    return thread, runs


def wait_for(path: Path, size: int) -> None:
    ends = time.monotonic() + 30
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_it_stands_still_while_something_is_timed(tmp_path: Path) -> None:
    file, behind = tmp_path / "counted", Behind()
    thread, runs = started(behind, [sys.executable, "-c", COUNTS, str(file)])
    wait_for(file, 1)
    before = stopped_s()
    with alone():
        time.sleep(0.05)  # what it was writing is there
        size = file.stat().st_size
        time.sleep(0.3)
        assert file.stat().st_size == size
    assert stopped_s() - before >= 0.3
    wait_for(file, size + 2)
    behind.end()
    thread.join(30)
    assert runs[0].ended is Ended.CRASH
    assert run_tool([sys.executable, "-c", ""], 60.0, behind=behind).ended is Ended.CRASH
    assert run_tool([sys.executable, "-c", ""], 60.0, behind=Behind()).ended is Ended.OK


def test_one_that_begins_meanwhile_waits(tmp_path: Path) -> None:
    file, behind = tmp_path / "counted", Behind()
    with alone():
        thread, _ = started(behind, [sys.executable, "-c", COUNTS, str(file)])
        time.sleep(0.3)
        assert not file.exists()
    wait_for(file, 1)
    behind.end()
    thread.join(30)


def test_standing_still_is_not_being_late(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("layoutopt.runtime.process.IDLE_S", 1.5)
    done = tmp_path / "done"
    script = f"""
import time
while time.process_time() < 0.3:
    pass
open({str(done)!r}, "w").close()
"""
    thread, runs = started(Behind(), [sys.executable, "-c", script], timeout_s=2.0)
    with alone():
        time.sleep(2.5)
    thread.join(30)
    assert runs[0].ended is Ended.OK
    assert done.exists()


def test_it_ends_with_its_parent_while_it_stands_still(tmp_path: Path) -> None:
    file = tmp_path / "counted"
    parent = f"""
import os, signal, sys, threading, time
from layoutopt.runtime.behind import Behind, alone
from layoutopt.runtime.process import run_tool
command = [sys.executable, "-c", {COUNTS!r}, {str(file)!r}]
threading.Thread(target=run_tool, args=(command, 60.0), kwargs={{"behind": Behind()}}).start()
while not os.path.exists({str(file)!r}):
    time.sleep(0.01)
with alone():
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", parent], check=False).returncode < 0
    time.sleep(0.3)
    size = file.stat().st_size
    time.sleep(0.3)
    assert file.stat().st_size == size
    assert not _holders(file)


def _holders(file: Path) -> list[str]:
    """Processes whose command line names a file."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = command.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(file) in text and "-c" in text.split("\0"):
            found.append(text)
    return found


AUTOGROUP = Path("/proc/self/autogroup")


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this system does not schedule by session")
def test_its_session_gives_way_to_others() -> None:
    show = "import pathlib; print(pathlib.Path('/proc/self/autogroup').read_text())"
    run = run_tool([sys.executable, "-c", show], 60.0, behind=Behind())
    assert run.stdout.split()[-2:] == ["nice", "19"]


def _is_allowed_to_hurry() -> bool:
    status = Path("/proc/self/status").read_text().split("CapEff:")[1].split()[0]
    can_nice = bool(int(status, 16) >> 23 & 1)
    return can_nice or resource.getrlimit(resource.RLIMIT_NICE)[0] >= 20


@pytest.mark.skipif(not _is_allowed_to_hurry(), reason="the system lets none raise a priority")
def test_what_is_waited_for_has_the_claim_of_others(tmp_path: Path) -> None:
    """Beside the work of other programs it would else have next to nothing of a core."""
    began, go_on = tmp_path / "began", tmp_path / "go_on"
    script = f"""
import os, pathlib, time
pathlib.Path({str(began)!r}).write_text("x")
before = os.nice(0)
while not pathlib.Path({str(go_on)!r}).exists():
    time.sleep(0.01)
group = pathlib.Path("/proc/self/autogroup")
print(before, os.nice(0), *(group.read_text().split()[-1:] if group.exists() else ["0"]))
"""
    behind = Behind()
    thread, runs = started(behind, [sys.executable, "-c", script])
    wait_for(began, 1)
    time.sleep(0.1)
    behind.hurry()
    go_on.touch()
    thread.join(30)
    assert runs[0].stdout.split() == ["19", "0", "0"]


def test_a_module_that_is_compared_compiles_unchecked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler's checks of its own representation take a quarter of the time."""
    commands: list[Sequence[str]] = []

    def taken(command: Sequence[str], timeout_s: float, behind: Behind | None = None) -> ToolRun:
        commands.append(command)
        return ToolRun(Ended.ERROR, "", "", "", 0.0)

    monkeypatch.setattr(compile_module, "run_tool", taken)
    for behind in (Behind(), None):
        compile_file(tmp_path / "model.mlir", tmp_path / "model.vmfb", (), 60.0, behind)
    unchecked, checked = commands
    assert {*quirks().flags.quick} <= {*unchecked}
    assert not {*quirks().flags.quick} & {*checked}
