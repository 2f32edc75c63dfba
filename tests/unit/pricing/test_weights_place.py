"""How much of the last cache is counted on."""

import pytest

from layoutopt.pricing import weights_place


def test_it_is_the_least_that_others_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([20, 16, 12, 16, 20])
    monkeypatch.setattr(weights_place, "cache_bytes_left", lambda _: next(left) << 20)
    assert weights_place.caches_left.__wrapped__().last_bytes == 12 << 20
