"""How much of a cache is left: by how fast blocks of growing size are read again."""

from __future__ import annotations

import pytest

from layoutopt.runtime import memory_rate
from layoutopt.runtime.memory_rate import CacheLeft, Floats, cache_left

MIB = 1 << 20


def bytes_left(size_bytes: int, tries: int = 1) -> tuple[int, int]:
    found = cache_left(size_bytes, tries)
    return found.usual_bytes, found.most_bytes


PAUSES_S = memory_rate._PAUSES_S


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rate, "_PAUSES_S", (1e-5, 2e-5, 4e-5))


@pytest.mark.parametrize("held", [4, 12, 16, 28, 32])
def test_what_is_read_like_memory_is_not_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    def again_gb_s(block: Floats) -> float:
        return 90.0 if block.nbytes <= held * MIB else 30.0

    monkeypatch.setattr(memory_rate, "_again_gb_s", again_gb_s)
    assert bytes_left(32 * MIB) == (held * MIB, held * MIB)


def test_an_eighth_is_always_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rate, "_again_gb_s", lambda block: 30.0)
    assert bytes_left(32 * MIB) == (4 * MIB, 4 * MIB)


def test_what_others_leave_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    held = iter([12, 28, 8, 32])
    now = 0

    def again_gb_s(block: Floats) -> float:
        nonlocal now
        if block.nbytes == 4 * MIB:  # a try begins
            now = next(held)
        return 90.0 if block.nbytes <= now * MIB else 30.0

    monkeypatch.setattr(memory_rate, "_again_gb_s", again_gb_s)
    monkeypatch.setattr(memory_rate, "_kept_s", lambda *_: 0.0)
    assert bytes_left(32 * MIB, tries=4) == (12 * MIB, 32 * MIB)


def test_it_is_tried_on_this_machine() -> None:
    found = cache_left(MIB, tries=2)
    assert 0 < found.usual_bytes <= found.most_bytes <= MIB
    assert found.kept_s is None or 0 <= found.kept_s <= memory_rate._PAUSES_S[-1]


@pytest.mark.parametrize(
    ("fast_passes", "kept_s"), [(0, 0.0), (3, 1e-5), (4, 1e-5), (5, 2e-5), (9, None)]
)
def test_others_leave_what_is_not_used_for_some_time(
    fast_passes: int, kept_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []

    def gb_s(block: Floats) -> float:
        passes.append(block.nbytes)
        return 90.0 if (len(passes) - 1) % 9 < fast_passes else 30.0

    monkeypatch.setattr(memory_rate, "_again_gb_s", lambda block: 30.0 + 60 * (block.nbytes < MIB))
    monkeypatch.setattr(memory_rate, "_gb_s", gb_s)
    monkeypatch.setattr(memory_rate, "_KEPT_TRIES", 1)
    assert cache_left(MIB) == CacheLeft(MIB * 7 // 8, MIB * 7 // 8, kept_s)


def test_small_models_find_their_weights_where_larger_ones_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a cache whose blocks are gone after 1 ms a run of half of that is still served."""
    passes = iter([pause_s for pause_s in PAUSES_S for _ in range(memory_rate._KEPT_PASSES)])

    def gb_s(block: Floats) -> float:
        return 90.0 if next(passes) < 1e-3 else 30.0

    monkeypatch.setattr(memory_rate, "_PAUSES_S", PAUSES_S)
    monkeypatch.setattr(memory_rate, "_again_gb_s", lambda block: 30.0 + 60 * (block.nbytes < MIB))
    monkeypatch.setattr(memory_rate, "_gb_s", gb_s)
    monkeypatch.setattr(memory_rate, "_KEPT_TRIES", 1)
    kept_s = cache_left(MIB).kept_s
    assert kept_s is not None
    assert 0.0005 <= kept_s < 0.001
