"""How much of the last cache is counted on."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from layoutopt.pricing import weights_place
from layoutopt.pricing.weights_place import CachesLeft
from layoutopt.runtime.memory_rate import CacheLeft


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Iterator[Iterator[int]]:
    """MiB that others leave, try after try."""
    found = iter([20, 16, 12, 16, 20, 8, 8, 8, 8, 8])

    def cache_left(size_bytes: int, tries: int) -> CacheLeft:
        own = [mib << 20 for mib in islice(found, tries)]
        return CacheLeft(sorted(own)[tries // 2], max(own), kept_s=0.01)

    monkeypatch.setattr(weights_place, "cache_left", cache_left)
    yield found
    weights_place._cache_left.cache_clear()


def _caches_left(place: str, kept: Path | None = None) -> CachesLeft:
    """As in a process of its own."""
    weights_place._cache_left.cache_clear()
    return weights_place.caches_left(place, kept)


def test_it_is_what_others_mostly_leave_and_at_most(left: Iterator[int]) -> None:
    found = _caches_left("here")
    assert (found.usual.last_bytes, found.most.last_bytes) == (16 << 20, 20 << 20)
    assert found.keeps(0.01)
    assert not found.keeps(0.011)


def test_later_runs_count_on_what_the_first_one_found(left: Iterator[int], tmp_path: Path) -> None:
    kept = tmp_path / "new" / "caches-left.json"
    first = _caches_left("here", kept)
    assert first.usual.last_bytes == 16 << 20
    assert _caches_left("here", kept) == first
    assert _caches_left("another processor", kept).usual.last_bytes == 8 << 20
    assert _caches_left("here", kept).usual.last_bytes == 16 << 20


def test_a_damaged_file_is_made_anew(left: Iterator[int], tmp_path: Path) -> None:
    kept = tmp_path / "caches-left.json"
    kept.write_text("cut short")
    assert _caches_left("here", kept).usual.last_bytes == 16 << 20
    assert _caches_left("here", kept).usual.last_bytes == 16 << 20


def test_a_cache_that_kept_nothing_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept_s = iter([0.0, 0.02])
    monkeypatch.setattr(
        weights_place, "cache_left", lambda *_: CacheLeft(8 << 20, 8 << 20, next(kept_s))
    )
    kept = tmp_path / "caches-left.json"
    assert [_caches_left("here", kept).kept_s for _ in range(3)] == [0.0, 0.02, 0.02]
