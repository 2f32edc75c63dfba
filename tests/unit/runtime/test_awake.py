"""Cores are asked to stay awake for as long as something is timed, and no longer."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from layoutopt.runtime.awake import cores_awake

FULL = Path("/dev/full")
FILES = Path("/proc/self/fd")


def _is_open(path: Path) -> bool:
    return any(path.samefile(link) for link in FILES.iterdir() if link.exists())


@pytest.mark.skipif(not FILES.exists(), reason="the system does not list open files")
def test_cores_are_asked_to_stay_awake_meanwhile(tmp_path: Path) -> None:
    latency = tmp_path / "latency"
    latency.write_bytes(b"")
    with cores_awake(True, latency) as awake:
        assert awake
        assert struct.unpack("i", latency.read_bytes()) == (0,)
        assert _is_open(latency)
    assert not _is_open(latency)


def test_nothing_is_asked_of_a_system_without_it(tmp_path: Path) -> None:
    with cores_awake(True, tmp_path / "latency") as awake:
        assert not awake
        assert not os.listdir(tmp_path)


@pytest.mark.skipif(not FULL.exists(), reason="the system has no file that refuses what is written")
def test_a_system_that_refuses_is_left_alone() -> None:
    with cores_awake(True, FULL) as awake:
        assert not awake
    assert not _is_open(FULL)


def test_what_goes_wrong_meanwhile_is_told(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), cores_awake(True, tmp_path / "latency"):
        raise PermissionError


def test_nothing_is_asked_where_it_is_not_wanted(tmp_path: Path) -> None:
    latency = tmp_path / "latency"
    latency.write_bytes(b"")
    with cores_awake(False, latency) as awake:
        assert not awake
        assert not latency.read_bytes()
