"""Sizes that dynamic dims are given when results are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.ir.fitting_sizes import going_together
from layoutopt.ir.graph import Graph
from layoutopt.ir.planned_sizes import divided
from layoutopt.ir.size import Symbol, at, symbols
from layoutopt.ir.size_range import Ranges, SizeRange
from layoutopt.planning.chosen_sizes import Point

_TRIED = (1, 7, 8, 9, 16, 17, 2, 32, 13, 31, 15)
"""Beside what is planned for: one, around tiles, and primes."""
_MOST = 10
_LARGEST = 2
"""The end of a range is tried where it is at most so many times what is planned for."""
_UNKNOWN = (8, 1, 2, 7, 32)
"""Sizes of dims of which nothing is known."""


@dataclass(frozen=True)
class Sizes:
    """A size for each symbol, and one for dims that no symbol stands for."""

    values: Mapping[str, int]
    """By name of the symbol, or ``any`` for the others."""
    shapes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """By position of the argument."""
    other: int = _UNKNOWN[0]

    def of(self, position: int, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        """The sizes of an argument; ``shape``: None where a size is open."""
        known = self.shapes.get(position)
        if known is None:
            return tuple(self.other if n is None else n for n in shape)
        return tuple(at(n, self.values) for n in known)

    def going_together(self, graph: Graph | None) -> Sizes:
        """These sizes, less those that contradict others in what the function computes.

        At sizes that do, the original reads what is not its own, and means nothing.
        """
        if graph is None or not self.values:
            return self
        mended = going_together(graph, self.values)
        return self if mended is None else replace(self, values=mended)

    def __str__(self) -> str:
        if not self.values:
            return f"dynamic sizes {self.other}"
        return ", ".join(f"{name} = {n}" for name, n in self.values.items())


def planned_points(
    shapes: Mapping[int, tuple[int, ...]], points: Sequence[Point]
) -> tuple[tuple[float, Sizes], ...]:
    """The sizes that are planned for, each with its weight."""
    found = sorted({s for shape in shapes.values() for n in shape for s in symbols(n)})
    return tuple(
        (weight, Sizes({s.name: _at_point(s, dict(values)) for s in found}, shapes))
        for weight, values in points
    )


def _at_point(symbol: Symbol, values: Mapping[str, int]) -> int:
    name, divisor = divided(symbol)
    return values.get(name, symbol.planned * divisor) // divisor


def sizes_around(
    shapes: Mapping[int, tuple[int, ...]], bodies: Sequence[Ranges], points: Sequence[Point]
) -> tuple[Sizes, ...]:
    """The sizes at each boundary between bodies of a function, and next to it on both sides.

    The other sizes are the first of those planned for that the body on one side serves, and of
    those on the other side.
    """
    found = sorted({s for shape in shapes.values() for n in shape for s in symbols(n)})
    rows: dict[tuple[int, ...], Sizes] = {}
    for ranges in bodies:
        inside = {s.name: _inside(s, ranges, points) for s in found}
        for each in ranges:
            for s in (s for s in found if divided(s)[0] == each.name):
                for value in _around(s, each):
                    sizes = Sizes({**inside, s.name: value}, shapes)
                    rows.setdefault(tuple(sizes.values.values()), sizes)
    return tuple(rows.values())


def _inside(symbol: Symbol, ranges: Ranges, points: Sequence[Point]) -> int:
    """What a symbol is taken to be in a body's own sizes."""
    name, divisor = divided(symbol)
    served = [dict(values) for _, values in points]
    served = [v for v in served if all(r.name not in v or v[r.name] in r for r in ranges)]
    own = next((r for r in ranges if r.name == name), None)
    value = _at_point(symbol, served[0] if served else {})
    if own is None or value * divisor in own:
        return value
    return max(1, own.ends[-1] // divisor + (own.up_to is None))


def _around(symbol: Symbol, each: SizeRange) -> list[int]:
    _, divisor = divided(symbol)
    near = (end // divisor + more for end in each.ends for more in (-1, 0, 1))
    return [n for n in near if max(symbol.low, 1) <= n <= symbol.high]


def sizes_to_try(shapes: Mapping[int, tuple[int, ...]]) -> tuple[Sizes, ...]:
    """What is planned for, then others: no two symbols always get the same."""
    found = sorted({s for shape in shapes.values() for n in shape for s in symbols(n)})
    if not found:
        return tuple(Sizes({}, shapes, n) for n in _UNKNOWN)
    columns = [_values(symbol, place) for place, symbol in enumerate(found)]
    rows = range(max(map(len, columns)))
    return tuple(
        Sizes(
            {s.name: column[i % len(column)] for s, column in zip(found, columns, strict=True)},
            shapes,
        )
        for i in rows
    )


def _values(symbol: Symbol, place: int) -> list[int]:
    turned = (*_TRIED[place:], *_TRIED[:place])
    ends = [n for n in (symbol.low, symbol.high) if n <= _LARGEST * symbol.planned]
    wanted = [symbol.planned, *ends, *turned]
    inside = (n for n in wanted if max(symbol.low, 1) <= n <= symbol.high)
    return list(dict.fromkeys(inside))[:_MOST]
