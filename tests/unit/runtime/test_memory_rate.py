"""How much of a cache is left: by how fast blocks of growing size are read again."""

from __future__ import annotations

import pytest

from layoutopt.runtime import memory_rate
from layoutopt.runtime.memory_rate import cache_bytes_left

MIB = 1 << 20


@pytest.mark.parametrize("held", [4, 12, 16, 28, 32])
def test_what_is_read_like_memory_is_not_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    def again_gb_s(size_bytes: int) -> float:
        return 90.0 if size_bytes <= held * MIB else 30.0

    monkeypatch.setattr(memory_rate, "_again_gb_s", again_gb_s)
    assert cache_bytes_left(32 * MIB) == held * MIB


def test_an_eighth_is_always_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rate, "_again_gb_s", lambda size_bytes: 30.0)
    assert cache_bytes_left(32 * MIB) == 4 * MIB


def test_it_is_tried_on_this_machine() -> None:
    assert 0 < cache_bytes_left(MIB) <= MIB
