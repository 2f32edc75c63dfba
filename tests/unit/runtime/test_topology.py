"""Workers stay on cores of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from layoutopt.runtime.topology import topology_flag

AFFINITIES = """
import os, time
from pathlib import Path
from layoutopt.runtime.binding import Device

def bound():
    for thread in Path("/proc/self/task").iterdir():
        if (thread / "comm").read_text().startswith("iree-worker"):
            yield os.sched_getaffinity(int(thread.name))

device, found = Device("local-task", 2), []
until = time.monotonic() + 20
while time.monotonic() < until and [len(cores) for cores in found] != [1, 1]:
    time.sleep(0.05)  # threads name and bind themselves as they start
    found = [*bound()]
print(*(core for cores in found for core in cores))
"""


def test_workers_take_the_last_cores() -> None:
    assert topology_flag(2, {0, 3, 5}) == "--task_topology_cpu_ids=3,5"
    assert topology_flag(1, [7]) == "--task_topology_cpu_ids=7"


def test_the_system_chooses_for_more_workers_than_cores() -> None:
    assert topology_flag(3, {0, 1}) == "--task_topology_group_count=3"
    assert topology_flag(2, ()) == "--task_topology_group_count=2"


@pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2,
    reason="the system binds no threads, or has one core",
)
def test_each_worker_is_bound_to_its_core() -> None:
    run = subprocess.run(
        [sys.executable, "-c", AFFINITIES], capture_output=True, text=True, timeout=60, check=True
    )
    assert sorted(run.stdout.split()) == [str(c) for c in sorted(os.sched_getaffinity(0))[-2:]]
