from __future__ import annotations

from layoutopt.pricing.farm.chunk import ChunkSetting, chunks_of
from tests.benchmarks.simulate_farm import made_up_benchmark


def test_competitors_stay_together_and_flags_apart() -> None:
    plain = [made_up_benchmark(i) for i in range(6)]
    other = [made_up_benchmark(6, ("--other",)), made_up_benchmark(7, ("--other",))]
    chunks = chunks_of([*plain, *other], [0, 1, 2, 2, 2, 3, 0, 9], 3)
    assert [chunk.groups for chunk in chunks] == [(0, 1, 2, 2, 2), (3,), (0, 9)]
    assert {b.flags for b in chunks[-1].benchmarks} == {("--other",)}


def test_a_chunk_in_single_candidates() -> None:
    (chunk,) = chunks_of([made_up_benchmark(i) for i in range(3)], [4, 5, 6], 16)
    assert [part.groups for part in chunk.singly()] == [(4,), (5,), (6,)]


def test_the_resource_is_the_driver() -> None:
    assert ChunkSetting("", "hip://0", 1, "", "", "").resource == "hip"
    assert ChunkSetting("", "local-sync", 1, "", "", "").resource == "local-sync"
