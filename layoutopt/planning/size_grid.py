"""The sizes that a function is planned at as a grid, and the parts of it that a body may serve.

Each open size that has several planning sizes is an axis. A body serves neighbours on every axis,
a box, and with them the sizes around them: between two planning sizes the boundary is their
geometric mean, since times go by the ratio of sizes and tiles by powers of two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from layoutopt.ir.graph import Graph
from layoutopt.ir.size_range import Ranges, SizeRange
from layoutopt.options import PlannedSize
from layoutopt.planning.chosen_sizes import Point, points_of

Box = tuple[tuple[int, int], ...]
"""The first and the last place on each axis."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An open size and what is planned for, ascending."""

    name: str
    sizes: tuple[int, ...]

    def boundary(self, place: int) -> int:
        """The largest size that goes with the one at ``place`` and not with the next."""
        return math.isqrt(self.sizes[place] * self.sizes[place + 1])


@dataclass(frozen=True)
class SizeGrid:
    """The planning sizes of one function."""

    points: tuple[Point, ...]
    """In the order in which work is priced."""

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The sizes that are planned for at more than one."""
        found: dict[str, set[int]] = {}
        for _, values in self.points:
            for name, size in values:
                found.setdefault(name, set()).add(size)
        return tuple(Axis(n, tuple(sorted(sizes))) for n, sizes in found.items() if len(sizes) > 1)

    @property
    def whole(self) -> Box:
        """All of it."""
        return tuple((0, len(axis.sizes) - 1) for axis in self.axes)

    @property
    def cells(self) -> tuple[Box, ...]:
        """The boxes of one size on each axis."""
        return tuple(box for box in self.boxes if all(first == last for first, last in box))

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """Every box, the whole first."""
        spans = [
            [(first, last) for first in range(n) for last in reversed(range(first, n))]
            for n in (len(axis.sizes) for axis in self.axes)
        ]
        return tuple(itertools.product(*spans))

    def inside(self, box: Box) -> tuple[int, ...]:
        """The points that lie in a box, by place."""
        spans = {
            axis.name: axis.sizes[first : last + 1]
            for axis, (first, last) in zip(self.axes, box, strict=True)
        }
        return tuple(
            place
            for place, (_, values) in enumerate(self.points)
            if all(size in spans.get(name, (size,)) for name, size in values)
        )

    def weight(self, places: Sequence[int]) -> float:
        """What points count together."""
        return sum(self.points[place][0] for place in places)

    def ranges(self, box: Box) -> Ranges:
        """The sizes that a body serves which is planned for a box; none for the whole."""
        found = []
        for axis, (first, last) in zip(self.axes, box, strict=True):
            above = None if first == 0 else axis.boundary(first - 1)
            up_to = None if last == len(axis.sizes) - 1 else axis.boundary(last)
            if (above, up_to) != (None, None):
                found.append(SizeRange(axis.name, above, up_to))
        return tuple(found)


def size_grid(graph: Graph, wanted: Sequence[PlannedSize]) -> SizeGrid:
    """The grid of the sizes that a graph is planned at."""
    return SizeGrid(points_of(graph, wanted))
