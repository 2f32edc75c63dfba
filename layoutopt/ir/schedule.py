"""How a contraction is to be tiled by the compiler: sizes for each of its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

_AS_GOOD = 1.05
"""A schedule that takes so many times as long as the best one is as good."""

_DEPTHS = (4, 2, 3, 5, 7)
"""Elements that are summed in one step. One alone is no contraction, which compilers know."""


def depth_of(size: int) -> int | None:
    """Elements of a summed loop that a windowed schedule takes in one step; None for none."""
    return next((depth for depth in _DEPTHS if size % depth == 0), None)


@dataclass(frozen=True, slots=True)
class Workgroup:
    """How the threads of a GPU's workgroup go about a tile."""

    threads: int
    subgroup: int
    """Threads that run in step."""
    instruction: str = ""
    """The matrix instruction, by which vector and reduction sizes are counted; empty where each
    thread sums up a tile of its own, counted in elements."""
    padding: tuple[int, ...] = ()
    """Sizes that loops are padded to a multiple of; empty where none has to be."""
    along: int = 0
    """Lanes along the innermost loop where a workgroup has rows, one where all compute the same; 0
    where it has a tile."""
    windows: int = 0
    """Summed loops of a convolution, for which there is one size; 0 elsewhere."""
    leads: bool = False
    """Of the ops of a dispatch over rows, whether this one says what kernel it is."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Tile sizes by loop; 0 where a loop is not tiled there."""

    distribution: tuple[int, ...]
    """Of a workgroup."""
    vector: tuple[int, ...]
    """Of the parallel loops, inside of that: what registers hold."""
    reduction: tuple[int, ...]
    """Of the summed loops."""
    windowed: bool = field(default=False, kw_only=True)
    """Whether an operand is read through windows, tiled to one element of the filter."""
    peeled: bool = field(default=False, kw_only=True)
    """Whether some tile leaves a rest of its loop, which takes code of its own."""
    inside: int = field(default=0, kw_only=True)
    """How many of the innermost loops an instruction of the processor does as a whole; they are not
    tiled."""
    workgroup: Workgroup | None = field(default=None, kw_only=True)
    """Of a GPU; None for a processor."""

    def of(self, loops: Sequence[int]) -> Schedule:
        """The schedule of the op with these loops alone."""

        def kept(sizes: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(sizes[d] for d in loops)

        group = self.workgroup
        return replace(
            self,
            distribution=kept(self.distribution),
            vector=kept(self.vector),
            reduction=kept(self.reduction),
            workgroup=group and replace(group, padding=group.padding and kept(group.padding)),
        )


@dataclass(frozen=True, slots=True, order=True)
class VectorTile:
    """The part of a result that registers hold while it is summed up, in elements."""

    rows: int
    columns: int
    """Of one panel, where there are several."""
    rest: int = 0
    """Columns that are left over beside whole tiles, as a loop of their own."""
    threads: int = 1
    """Threads that share the workgroups."""
    panels: int = 1
    """Panels of weights side by side."""

    @property
    def width(self) -> int:
        """Columns of all panels."""
        return self.panels * self.columns

    def __str__(self) -> str:
        panels = f"{self.panels}x" if self.panels > 1 else ""
        rest = f"+{self.rest}" if self.rest else ""
        shared = f" for {self.threads} threads" if self.threads > 1 else ""
        return f"{self.rows}x{panels}{self.columns}{rest}{shared}"

    def balanced(self, sizes: Sequence[int], height: int, others: int) -> int:
        """Which of the sizes to tile a loop of ``height`` by, so that all threads are busy.

        ``others``: workgroups for each of its tiles. The largest where several are about as good:
        a workgroup has something to set up, and reads again what its neighbour read.
        """

        def time(size: int) -> int:
            return -(-others * -(-height // size) // self.threads) * size

        least = min(map(time, sizes))
        return max(size for size in sizes if time(size) <= _AS_GOOD * least)


@dataclass(frozen=True, slots=True, order=True)
class WorkgroupTile:
    """The part of a result that a workgroup of a GPU sums up, in elements."""

    rows: int
    columns: int
    depth: int
    """Of the summed loop, between two loads."""
    held_rows: int
    """Of the part that one subgroup holds, or, without matrix instruction, one thread."""
    held_columns: int
    subgroup: int
    """Lanes of a subgroup."""
    instruction: str = ""
    """The matrix instruction; empty for none."""
    of_one: tuple[int, int, int] = (1, 1, 1)
    """Rows, columns and terms of one instruction."""
    lines: int = 0
    """Lines of an image that the rows are pixels of, in a convolution; 0 elsewhere."""
    held_lines: int = 0

    @property
    def pixels(self) -> int:
        """Of each line."""
        return self.rows // max(1, self.lines)

    @property
    def held_pixels(self) -> int:
        """Of those, in the part that one subgroup holds."""
        return self.held_rows // max(1, self.held_lines)

    @property
    def threads(self) -> int:
        """Of a workgroup."""
        parts = (self.rows // self.held_rows) * (self.columns // self.held_columns)
        return parts * (self.subgroup if self.instruction else 1)

    def __str__(self) -> str:
        whole, held = f"{self.rows}", f"{self.held_rows}"
        if self.lines:
            whole, held = f"{self.lines}x{self.pixels}", f"{self.held_lines}x{self.held_pixels}"
        return f"{whole}x{self.columns}x{self.depth} by {held}x{self.held_columns}"


@dataclass(frozen=True, slots=True, order=True)
class RowTile:
    """How a workgroup of a GPU shares a row."""

    lanes: int
    """Of a subgroup."""
    subgroups: int
    width: int
    """Elements that a lane loads at once."""

    @property
    def threads(self) -> int:
        """Of a workgroup."""
        return self.lanes * self.subgroups

    @property
    def step(self) -> int:
        """Elements of a row that its lanes load at once."""
        return self.threads * self.width

    def __str__(self) -> str:
        wide = f", {self.width} elements at once" if self.width > 1 else ""
        return f"{self.subgroups}x{self.lanes} lanes{wide}"


Tile = VectorTile | WorkgroupTile | RowTile
"""What a schedule is made from."""
