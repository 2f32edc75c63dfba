"""Cores are asked to stay awake for as long as something is timed, and no longer."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from layoutopt.runtime.awake import can_keep_awake, cores_awake


def _held_open(path: Path) -> bool:
    return any(path.samefile(link) for link in Path("/proc/self/fd").iterdir() if link.exists())


def test_cores_are_asked_to_stay_awake_meanwhile(tmp_path: Path) -> None:
    latency = tmp_path / "latency"
    latency.write_bytes(b"")
    assert can_keep_awake(latency)
    with cores_awake(latency):
        assert struct.unpack("i", latency.read_bytes()) == (0,)
        if Path("/proc/self/fd").exists():
            assert _held_open(latency)
    assert not Path("/proc/self/fd").exists() or not _held_open(latency)


def test_nothing_is_asked_of_a_system_without_it(tmp_path: Path) -> None:
    missing = tmp_path / "latency"
    assert not can_keep_awake(missing)
    with cores_awake(missing):
        assert not os.listdir(tmp_path)
