"""`kill -9` at random moments, and several processes at once, on one store.

`LAYOUTOPT_KILLS=50 pytest tests/e2e/runtime/test_kill.py` kills 50 times; the default is few.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from layoutopt.profiles.store import Store

ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).with_name("fake_run.py")
KILLS = int(os.environ.get("LAYOUTOPT_KILLS", "6"))
CANDIDATES = 40 * max(KILLS, 6)


def start(store: Path, candidates: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(store), str(candidates)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def stored(output: str) -> list[str]:
    """Keys that were reported as stored; a line that was cut off by the kill does not count."""
    words = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return [row[1] for row in words if row[0] == "stored"]


def test_kill_9_loses_nothing_that_was_reported(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    moment = random.Random(0)
    reported: list[str] = []
    for _ in range(KILLS):
        process = start(path, CANDIDATES)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(moment.uniform(0.0, 0.15))
        process.kill()
        rest, _ = process.communicate()
        reported += stored(first + rest)
        with Store(path) as store:
            kept = store.get_many(reported)
        assert set(reported) <= set(kept)
    assert len(reported) == len(set(reported)), "something was measured twice"
    last = start(path, CANDIDATES)
    output, _ = last.communicate(timeout=120)
    assert f"complete {CANDIDATES}\n" in output
    again = stored(output)
    assert not set(again) & set(reported)
    assert len(again) + len(reported) <= CANDIDATES
    assert CANDIDATES - len(again) - len(reported) <= KILLS, "stored, but killed before saying so"


def test_four_processes_measure_into_one_store(tmp_path: Path) -> None:
    count = 120
    processes = [start(tmp_path / "prices.sqlite", count) for _ in range(4)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert all(f"complete {count}\n" in output for output in outputs)
    measured = [key for output in outputs for key in stored(output)]
    assert len(set(measured)) == count
    assert len(measured) - count <= 4, "more than one candidate each was measured twice"
