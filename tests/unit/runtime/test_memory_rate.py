"""How much of a cache is left: by how fast blocks of growing size are read again."""

from __future__ import annotations

import pytest

from layoutopt.runtime import memory_rate
from layoutopt.runtime.memory_rate import Floats, cache_bytes_left

MIB = 1 << 20


@pytest.mark.parametrize("held", [4, 12, 16, 28, 32])
def test_what_is_read_like_memory_is_not_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    def again_gb_s(block: Floats) -> float:
        return 90.0 if block.nbytes <= held * MIB else 30.0

    monkeypatch.setattr(memory_rate, "_again_gb_s", again_gb_s)
    assert cache_bytes_left(32 * MIB) == (held * MIB, held * MIB)


def test_an_eighth_is_always_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rate, "_again_gb_s", lambda block: 30.0)
    assert cache_bytes_left(32 * MIB) == (4 * MIB, 4 * MIB)


def test_what_others_leave_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    held = iter([12, 28, 8, 32])
    now = 0

    def again_gb_s(block: Floats) -> float:
        nonlocal now
        if block.nbytes == 4 * MIB:  # a try begins
            now = next(held)
        return 90.0 if block.nbytes <= now * MIB else 30.0

    monkeypatch.setattr(memory_rate, "_again_gb_s", again_gb_s)
    assert cache_bytes_left(32 * MIB, tries=4) == (8 * MIB, 32 * MIB)


def test_it_is_tried_on_this_machine() -> None:
    least, most = cache_bytes_left(MIB, tries=2)
    assert 0 < least <= most <= MIB
