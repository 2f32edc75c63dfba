"""How much of the last cache is counted on."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from layoutopt.pricing import weights_place
from layoutopt.profiles.host import Caches


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """MiB that others leave, try after try."""
    found = iter([20, 16, 12, 16, 20, 8, 8, 8, 8, 8])

    def least(size_bytes: int, tries: int) -> int:
        return min(islice(found, tries)) << 20

    monkeypatch.setattr(weights_place, "cache_bytes_left", least)
    return found


def _caches_left(place: str, kept: Path | None = None) -> Caches:
    """As in a process of its own."""
    return weights_place.caches_left.__wrapped__(place, kept)


def test_it_is_the_least_that_others_leave(left: Iterator[int]) -> None:
    assert _caches_left("here").last_bytes == 12 << 20


def test_later_runs_count_on_what_the_first_one_found(left: Iterator[int], tmp_path: Path) -> None:
    kept = tmp_path / "new" / "caches.json"
    assert _caches_left("here", kept).last_bytes == 12 << 20
    assert _caches_left("here", kept).last_bytes == 12 << 20
    assert _caches_left("another processor", kept).last_bytes == 8 << 20
    assert _caches_left("here", kept).last_bytes == 12 << 20


def test_a_damaged_file_is_made_anew(left: Iterator[int], tmp_path: Path) -> None:
    kept = tmp_path / "caches.json"
    kept.write_text("cut short")
    assert _caches_left("here", kept).last_bytes == 12 << 20
    assert _caches_left("here", kept).last_bytes == 12 << 20
