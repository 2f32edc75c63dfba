from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from layoutopt.errors import InputError
from layoutopt.runtime.process import (
    Ended,
    find_tool,
    how_ended,
    keeping_memory,
    kill_running,
    run_tool,
)

_COMPUTE = """
import time
while time.process_time() < 1.0:
    pass
"""


def test_a_tool_that_ends_well() -> None:
    run = run_tool(
        [sys.executable, "-c", "import sys; print('out'); print('e', file=sys.stderr)"], 20
    )
    assert (run.ended, run.stdout, run.stderr) == (Ended.OK, "out\n", "e\n")
    assert 0 < run.seconds < 20


def test_a_tool_that_fails() -> None:
    assert run_tool(["sh", "-c", "exit 3"], 20).ended is Ended.ERROR


def test_a_tool_that_crashes() -> None:
    run = run_tool(["sh", "-c", "kill -SEGV $$"], 20)
    assert (run.ended, run.signal_name) == (Ended.CRASH, "SIGSEGV")


def test_a_tool_that_does_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that works, or waits for a core, is."""
    monkeypatch.setattr("layoutopt.runtime.process.IDLE_S", 0.5)
    assert run_tool(["sleep", "60"], 50).ended is Ended.IDLE
    assert run_tool([sys.executable, "-c", _COMPUTE], 50).ended is Ended.OK


def test_a_file_at_the_limit_of_its_size_is_no_crash(tmp_path: Path) -> None:
    """Nor a refusal of what the tool was given, to be remembered as one."""
    script = f"ulimit -f 1; exec dd if=/dev/zero of={tmp_path}/file bs=4096 count=2"
    with pytest.raises(InputError) as caught:
        run_tool(["sh", "-c", script], 20)
    assert str(caught.value) == (
        "sh: expected room for the files that it writes, but got the limit on the size of a file; "
        "raise it with `ulimit -f unlimited`"
    )


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        (0, (Ended.OK, "")),
        (1, (Ended.ERROR, "")),
        (-11, (Ended.CRASH, "SIGSEGV")),
        (139, (Ended.CRASH, "SIGSEGV")),  # a shell between
        (245, (Ended.CRASH, "SIGSEGV")),  # sys.exit(-11) between
        (250, (Ended.CRASH, "SIGABRT")),
        (191, (Ended.CRASH, "SIGRTMAX-1")),
    ],
)
def test_how_a_process_ended(status: int, ended: tuple[Ended, str]) -> None:
    if status == 191:
        assert how_ended(status)[0] in {Ended.CRASH, Ended.ERROR}
    else:
        assert how_ended(status) == ended


def test_a_timeout_kills_the_whole_group() -> None:
    script = "sleep 61.25 & sleep 61.25; wait"
    run = run_tool(["sh", "-c", script], 0.3)
    assert run.ended is Ended.TIMEOUT
    assert run.seconds < 5
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _sleepers():
        time.sleep(0.02)
    assert _sleepers() == []


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system does not tell")
def test_waiting_for_a_core_is_no_timeout() -> None:
    """Two that compute share a core: each takes twice as long as it computes."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            try:
                run = run_tool([sys.executable, "-c", _COMPUTE], 1.2)
            finally:
                other.kill()
    finally:
        os.sched_setaffinity(0, cores)
    assert run.ended is Ended.OK
    assert run.seconds > 1.2


def test_tools_of_other_threads_can_be_killed() -> None:
    ended = []
    thread = threading.Thread(target=lambda: ended.append(run_tool(["sleep", "62.5"], 100).ended))
    thread.start()
    time.sleep(0.3)
    kill_running()
    thread.join(5)
    assert ended == [Ended.CRASH]


def test_a_tool_that_is_missing() -> None:
    with pytest.raises(InputError) as caught:
        find_tool("iree-frobnicate")
    assert str(caught.value) == (
        "iree-frobnicate: expected the tool beside this Python or on PATH, but got nothing; "
        "pip install layoutopt"
    )


def test_the_compiler_is_started_without_the_script_around_it() -> None:
    assert not Path(find_tool("iree-compile")).read_bytes().startswith(b"#!")


def test_tools_are_found_on_the_path() -> None:
    assert subprocess.run([find_tool("sh"), "-c", "exit 0"], check=False).returncode == 0


def _sleepers() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes() == b"sleep\x0061.25\x00":
                found.append(str(path))
    return found


FAULTS = """
import ctypes, resource
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
c.free.argtypes = [ctypes.c_void_p]
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = c.malloc(SIZE)
    ctypes.memset(block, 1, SIZE)
    c.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
first, second = faults(), faults()
print(first > 1000, second < 10)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are those of glibc")
def test_memory_that_was_freed_is_not_taken_from_the_system_again() -> None:
    program = FAULTS.replace("SIZE", str(64 << 20))
    command = [sys.executable, "-c", program]
    assert run_tool(command, 60.0, keeping_memory()).stdout.split() == ["True", "True"]
    assert run_tool(command, 60.0).stdout.split() == ["True", "False"]
