"""Which bodies a function has: the cheapest set of boxes that hold each planning size once.

With C(b) what the plan for the sizes in box b costs, this is set partitioning,

    minimize  sum over b of (C(b) + extra) x_b    subject to  sum over b that hold p of x_b = 1 for
    each planning size p,  sum of x_b <= most,  x_b in {0, 1}

and bodies share no choice. It is solved by dynamic programming over the sizes that are served
already. C(b) is worked out where an answer uses b: what plans for each size alone cost is a lower
bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from layoutopt.planning.size_grid import Box, SizeGrid


def cheapest_bodies(
    grid: SizeGrid, most: int, extra: float, cost: Callable[[Box], tuple[float, float]]
) -> tuple[Box, ...]:
    """The boxes of the cheapest bodies, at most ``most``.

    ``extra``: what each body costs besides. ``cost``: of the plan for a box, and a lower bound of
    it, which counts of boxes of one size only; asked for once a box.
    """
    known = {box: cost(box) for box in grid.cells}
    points = {box: grid.inside(box) for box in grid.boxes}
    least = {place: known[box][1] for box in grid.cells for place in points[box][:1]}

    def bound(box: Box) -> float:
        return known[box][0] if box in known else sum(least.get(p, 0.0) for p in points[box])

    while True:
        costs = {box: bound(box) + extra for box in grid.boxes}
        chosen = cheapest_cover(points, costs, most)
        new = [box for box in chosen if box not in known]
        if not new:
            return chosen
        known |= {box: cost(box) for box in new}


def cheapest_cover(
    points: Mapping[Box, Sequence[int]], costs: Mapping[Box, float], most: int
) -> tuple[Box, ...]:
    """The boxes of least cost that hold each point once, at most ``most``; of equal ones the first.

    ``points``: those in each box; some box holds all.
    """
    masks = {box: _mask(held) for box, held in points.items()}
    everything = max(masks.values())

    @cache
    def rest(served: int, left: int) -> tuple[float, tuple[Box, ...]] | None:
        """The cheapest boxes for what is not served yet; None where so few do not do."""
        if served == everything:
            return 0.0, ()
        if not left:
            return None
        lowest = ~served & (served + 1)
        best: tuple[float, tuple[Box, ...]] | None = None
        for box, mask in masks.items():
            if not mask & lowest or mask & served:
                continue
            more = rest(served | mask, left - 1)
            if more is not None and (best is None or costs[box] + more[0] < best[0]):
                best = costs[box] + more[0], (box, *more[1])
        return best

    found = rest(0, most)
    assert found is not None, "one box holds all points"
    return found[1]


def _mask(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)
