"""What `tests.benchmarks.experience` keeps and writes is what is read again."""

from __future__ import annotations

import json

import msgspec

from layoutopt.profiles.experience import Experience
from tests.benchmarks.experience import Row, some, written


def rows(way: str, number: int) -> list[Row]:
    return [(("", "how", "made", f"loops {way}", way), (float(i),), i / 8) for i in range(number)]


def test_each_way_comes_before_others_again() -> None:
    kept = some([*rows("usual", 90), *rows("rare", 2)], 6)
    assert [row[0][-1] for row in kept].count("rare") == 2
    assert len(kept) == 6
    assert len(some(rows("few", 3), 10)) == 3


def test_it_is_read_as_it_was_written() -> None:
    kept = [*rows("one", 2), *rows("two", 1)]
    found = msgspec.convert(json.loads(written(kept)), Experience)
    assert [(found.names_of(r), r.place, r.log_ratio) for r in found.rows] == kept
    assert found.names(3) == {"loops one", "loops two"}
