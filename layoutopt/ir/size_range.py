"""Ranges of sizes that are known at run time only: which body of a function serves which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SizeRange:
    """The sizes above one number and up to another."""

    name: str
    """As the report names the size: ``arg0.1`` is dim 1 of the first argument."""
    above: int | None = None
    """The largest size that is too small; None where none is."""
    up_to: int | None = None
    """The largest size of the range; None where there is none."""

    def __contains__(self, size: int) -> bool:
        """Whether a size lies in it."""
        low, high = self.above, self.up_to
        return (low is None or size > low) and (high is None or size <= high)

    def __str__(self) -> str:
        if self.up_to is None:
            return f"{self.name} > {self.above}"
        ahead = "" if self.above is None else f"{self.above} < "
        return f"{ahead}{self.name} <= {self.up_to}"

    @property
    def ends(self) -> tuple[int, ...]:
        """The boundaries: the largest size on the lower side of each."""
        return tuple(end for end in (self.above, self.up_to) if end is not None)


Ranges = tuple[SizeRange, ...]
"""One for each size that a body is bound to; the sizes that lie in all of them are its own."""


def ranges_text(ranges: Ranges) -> str:
    """As reports write them; empty for a body that serves all sizes."""
    return ", ".join(map(str, ranges))


def body_name(function: str, ranges: Ranges) -> str:
    """The name of one of the bodies of a function; the function's own where it has one."""
    return f"{function} at {ranges_text(ranges)}" if ranges else function


def serves(ranges: Ranges, sizes: Mapping[str, int]) -> bool:
    """Whether a body serves these sizes, which name all that it is bound to."""
    return all(sizes[r.name] in r for r in ranges)


def serve_each_once(bodies: Sequence[Ranges]) -> bool:
    """Whether there is one body, and no second one, for any sizes."""
    ends: dict[str, set[int]] = {}
    for ranges in bodies:
        for each in ranges:
            ends.setdefault(each.name, set()).update(each.ends)
    cells: list[dict[str, int]] = [{}]
    for name, found in ends.items():
        numbers = [*sorted(found), max(found) + 1]
        cells = [{**cell, name: number} for cell in cells for number in numbers]
    return all(sum(serves(ranges, cell) for ranges in bodies) == 1 for cell in cells)
