"""Which ranges of sizes get a body: compared with every way to share the sizes out."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from layoutopt.ir.size_range import SizeRange, serve_each_once, serves
from layoutopt.planning.bodies import cheapest_bodies, cheapest_cover
from layoutopt.planning.size_grid import Box, SizeGrid


def grid(**sizes: tuple[int, ...]) -> SizeGrid:
    """Every combination, each of weight 1."""
    rows = itertools.product(*([(name, n) for n in given] for name, given in sizes.items()))
    return SizeGrid(tuple((1.0, row) for row in rows))


GRIDS = (grid(s=(1, 8, 64, 512)), grid(s=(1, 128), b=(1, 4)), grid(s=(1, 16, 256), b=(1, 4)))


def partitions(found: SizeGrid, left: frozenset[int]) -> Iterator[tuple[Box, ...]]:
    """Every way to share out points among boxes."""
    if not left:
        yield ()
        return
    first = min(left)
    for box in found.boxes:
        inside = frozenset(found.inside(box))
        if first in inside and inside <= left:
            for rest in partitions(found, left - inside):
                yield (box, *rest)


@pytest.mark.parametrize("found", GRIDS)
@pytest.mark.parametrize("most", [1, 2, 3, 12])
def test_the_cover_is_the_cheapest_of_all(found: SizeGrid, most: int) -> None:
    rng = random.Random(most)
    ways = list(partitions(found, frozenset(range(len(found.points)))))
    for _ in range(20):
        costs = {box: rng.randrange(100) for box in found.boxes}
        points = {box: found.inside(box) for box in found.boxes}
        chosen = cheapest_cover(points, costs, most)
        assert chosen in ways
        assert len(chosen) <= most
        best = min(sum(costs[b] for b in way) for way in ways if len(way) <= most)
        assert sum(costs[box] for box in chosen) == best


@pytest.mark.parametrize("found", GRIDS)
@pytest.mark.parametrize("most", [2, 4])
def test_bounds_find_the_same_as_all_costs(found: SizeGrid, most: int) -> None:
    """Each plan has a time at each size; a box costs what its cheapest plan does."""
    rng = random.Random(most)
    for _ in range(20):
        plans = [[rng.randrange(1000) for _ in found.points] for _ in range(6)]
        extra = rng.randrange(400)
        asked: list[Box] = []

        times = {
            box: min(sum(plan[p] for p in found.inside(box)) for plan in plans)
            for box in found.boxes
        }

        def cost(
            box: Box, times: dict[Box, int] = times, asked: list[Box] = asked
        ) -> tuple[float, float]:
            asked.append(box)
            return times[box], times[box]

        chosen = cheapest_bodies(found, most, extra, cost)
        assert len(asked) == len(set(asked))
        costs = {box: ns + extra for box, ns in times.items()}
        everything = frozenset(range(len(found.points)))
        ways = (w for w in partitions(found, everything) if len(w) <= most)
        assert sum(costs[b] for b in chosen) == min(sum(costs[b] for b in w) for w in ways)


def test_costs_that_no_answer_needs_are_not_asked_for() -> None:
    """Where every size likes the same plan, one body is the answer as soon as that is known."""
    found = grid(s=(1, 2, 4, 8, 16, 32))
    asked: list[Box] = []

    def cost(box: Box) -> tuple[float, float]:
        asked.append(box)
        return 10.0 * len(found.inside(box)), 10.0 * len(found.inside(box))

    assert cheapest_bodies(found, 4, 1.0, cost) == (found.whole,)
    assert len(asked) == len(found.cells) + 1 < len(found.boxes)


def test_boundaries_are_geometric_means() -> None:
    found = grid(s=(128, 1, 2048))
    assert [str(r) for box in found.cells for r in found.ranges(box)] == [
        "s <= 11",
        "11 < s <= 512",
        "s > 512",
    ]
    assert found.ranges(found.whole) == ()
    assert grid(s=(1, 2)).ranges(((0, 0),)) == (SizeRange("s", None, 1),)


@pytest.mark.parametrize("found", GRIDS)
def test_a_box_serves_the_sizes_that_it_is_planned_for(found: SizeGrid) -> None:
    for way in partitions(found, frozenset(range(len(found.points)))):
        ranges = [found.ranges(box) for box in way]
        assert serve_each_once(ranges)
        for box, own in zip(way, ranges, strict=True):
            served = [p for p, (_, v) in enumerate(found.points) if serves(own, dict(v))]
            assert tuple(served) == found.inside(box)


def test_a_size_that_is_named_twice_is_one_place() -> None:
    found = SizeGrid(((1.0, (("s", 4),)), (2.0, (("s", 4),)), (1.0, (("s", 64),))))
    assert found.cells == (((0, 0),), ((1, 1),))
    assert found.inside(((0, 0),)) == (0, 1)
    assert cheapest_bodies(found, 2, 0.0, lambda box: (1.0, 1.0)) == (found.whole,)
    apart = cheapest_bodies(found, 2, 0.0, lambda box: (9.0 if box == found.whole else 1.0, 0.0))
    assert apart == found.cells
