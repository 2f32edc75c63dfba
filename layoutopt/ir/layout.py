"""Layouts of tensors and their algebra.

A layout has the attributes of ``linalg.pack``: tiles of some dims move innermost, the outer
dims are permuted. Row-major is the identity; a transpose has no tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache

import numpy as np

from layoutopt.ir.neutral import Padding
from layoutopt.ir.size import Size, Undecided, divides, nonempty
from layoutopt.ir.types import Array, TensorType


@dataclass(frozen=True, slots=True)
class Layout:
    """How a tensor of a given rank lies in memory.

    ``outer_dims_perm[i]`` is the logical dim at outer position i; ``inner_dims_pos[j]`` the
    logical dim whose tile of ``inner_tiles[j]`` elements is inner dim j. ``padding`` is what
    fills the last tile up where one does not divide its dim: the padding contract.
    """

    outer_dims_perm: tuple[int, ...]
    inner_dims_pos: tuple[int, ...] = ()
    inner_tiles: tuple[int, ...] = ()
    padding: Padding = Padding.ZERO
    _hash: int = field(init=False, repr=False, compare=False)
    """Worked out once: layouts stand in the keys of most tables of a plan. Of numbers alone, so
    that it is the same in every process."""

    def __post_init__(self) -> None:
        if sorted(self.outer_dims_perm) != list(range(len(self.outer_dims_perm))):
            raise ValueError(
                f"outer_dims_perm: expected a permutation of 0..rank-1, "
                f"but got {self.outer_dims_perm}"
            )
        distinct = set(self.inner_dims_pos)
        if not len(self.inner_tiles) == len(self.inner_dims_pos) == len(distinct):
            raise ValueError(
                f"inner_dims_pos: expected one distinct dim per tile, "
                f"but got {self.inner_dims_pos} for {self.inner_tiles}"
            )
        if not distinct <= set(self.outer_dims_perm):
            raise ValueError(
                f"inner_dims_pos: expected dims below rank {self.rank}, "
                f"but got {self.inner_dims_pos}"
            )
        if any(tile < 1 for tile in self.inner_tiles):
            raise ValueError(
                f"inner_tiles: expected sizes of at least 1, but got {self.inner_tiles}"
            )
        places = (self.outer_dims_perm, self.inner_dims_pos, self.inner_tiles)
        object.__setattr__(self, "_hash", hash(places))

    def __hash__(self) -> int:
        return self._hash

    @property
    def rank(self) -> int:
        """Rank of the logical tensor."""
        return len(self.outer_dims_perm)

    @property
    def is_row_major(self) -> bool:
        """Whether memory order is logical order."""
        return not self.inner_tiles and self.outer_dims_perm == tuple(range(self.rank))

    @property
    def is_tiled(self) -> bool:
        """Whether it has inner tiles: reached by a pack, left by an unpack."""
        return bool(self.inner_tiles)

    def tile_of(self, dim: int) -> int:
        """The tile of one logical dim, 1 where it has none."""
        if dim not in self.inner_dims_pos:
            return 1
        return self.inner_tiles[self.inner_dims_pos.index(dim)]

    def physical_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape in memory of a tensor of logical ``shape``, padded up to whole tiles."""
        outer = (-(-shape[d] // self.tile_of(d)) for d in self.outer_dims_perm)
        return (*outer, *self.inner_tiles)

    def physical_type(self, logical: TensorType) -> TensorType:
        """The type in memory of a tensor of logical type."""
        return TensorType(self.physical_shape(logical.shape), logical.element)

    def size_bytes(self, logical: TensorType) -> int:
        """Bytes in memory, padding included."""
        return self.physical_type(logical).size_bytes

    def pads(self, shape: Sequence[int]) -> bool:
        """Whether some tile does not divide its dim; an empty tensor has no padding."""
        tiles = zip(self.inner_dims_pos, self.inner_tiles, strict=True)
        return any(shape[d] % tile != 0 for d, tile in tiles) and 0 not in shape

    def padded_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The logical ``shape`` padded up to whole tiles."""
        return tuple(-(-n // self.tile_of(d)) * self.tile_of(d) for d, n in enumerate(shape))

    def padded_with(self, padding: Padding) -> Layout:
        """The same places with another padding contract."""
        return replace(self, padding=padding)

    def apply(self, array: Array, padding: object = None) -> Array:
        """The array as it lies in memory: the NumPy meaning of this layout.

        ``padding``: a value in place of the layout's own.
        """
        if padding is None:
            padding = self.padding.number(array.dtype)
        widths = [(0, -n % self.tile_of(d)) for d, n in enumerate(array.shape)]
        if any(high for _, high in widths):
            array = np.pad(array, widths, constant_values=np.asarray(padding, array.dtype))
        split: list[int] = []
        for d, n in enumerate(array.shape):
            split += [n // self.tile_of(d), self.tile_of(d)]
        order = [2 * d for d in self.outer_dims_perm] + [2 * d + 1 for d in self.inner_dims_pos]
        rest = [2 * d + 1 for d in range(self.rank) if d not in self.inner_dims_pos]
        moved = array.reshape(split).transpose(*order, *rest)
        return np.asarray(moved.reshape(moved.shape[: len(order)]), order="C")

    def undo(self, array: Array, shape: Sequence[int]) -> Array:
        """The logical tensor of ``shape`` from its memory form; padding is dropped."""
        position = {d: i for i, d in enumerate(self.outer_dims_perm)}
        order: list[int] = []
        full: list[int] = []
        for d in range(self.rank):
            order.append(position[d])
            if d in self.inner_dims_pos:
                order.append(self.rank + self.inner_dims_pos.index(d))
            full.append(array.shape[position[d]] * self.tile_of(d))
        whole = array.transpose(order).reshape(full)
        return np.asarray(whole[tuple(slice(n) for n in shape)], order="C")

    def __str__(self) -> str:
        perm = ",".join(map(str, self.outer_dims_perm))
        if not self.inner_tiles:
            return "row-major" if self.is_row_major else f"perm[{perm}]"
        tiles = ",".join(
            f"{d}:{t}" for d, t in zip(self.inner_dims_pos, self.inner_tiles, strict=True)
        )
        filled = "" if self.padding is Padding.ZERO else f" padding {self.padding.value}"
        return f"perm[{perm}] tiles[{tiles}]{filled}"


def unfillable(kind: TensorType, layout: Layout) -> str | None:
    """Why the last tiles of a tensor cannot be filled up as its layout says, None where they can.

    The value to fill with has to be known for the element type.
    """
    if not layout.pads(kind.shape) or layout.padding.text(kind.element) is not None:
        return None
    return f"expected an element type whose {layout.padding.value} is known, but got {kind.element}"


@cache
def row_major(rank: int) -> Layout:
    """The identity layout."""
    return Layout(tuple(range(rank)))


class ConversionKind(Enum):
    """What it takes to get from one layout to another, cheapest first."""

    NOTHING = "nothing"
    RESHAPE = "reshape"
    TRANSPOSE = "transpose"
    PACK = "pack"
    UNPACK = "unpack"
    UNPACK_PACK = "unpack+pack"
    REFILL = "refill"
    """Another value into the padding."""


def conversion_kind(shape: Sequence[int], source: Layout, target: Layout) -> ConversionKind:
    """The cheapest single conversion between two layouts of a tensor of ``shape``."""
    if source == target:
        return ConversionKind.NOTHING
    if same_memory(shape, source, target):
        return ConversionKind.RESHAPE
    if same_tiles(shape, source, target) and not fills(source, target):
        return ConversionKind.REFILL
    if source.is_tiled == target.is_tiled and _splits(shape, source, target):
        return ConversionKind.TRANSPOSE
    if not source.is_tiled:
        return ConversionKind.PACK
    return ConversionKind.UNPACK_PACK if target.is_tiled else ConversionKind.UNPACK


def _splits(shape: Sequence[int], source: Layout, target: Layout) -> bool:
    """Whether a transpose does: of two tiles of a dim the larger is a multiple of the other.

    Both have the same padded dims, and the padding may stay what it is.
    """
    if source.pads(shape) and not fills(source, target):
        return False
    tiles = [sorted((source.tile_of(d), target.tile_of(d))) for d in range(len(shape))]
    return source.padded_shape(shape) == target.padded_shape(shape) and all(
        large % small == 0 for small, large in tiles
    )


Run = tuple[int, int]
"""A stretch of memory order: (stride in row-major elements, count)."""


def same_memory(shape: Sequence[int], source: Layout, target: Layout) -> bool:
    """Whether the memory of ``source`` serves as ``target`` (unit dims move freely).

    That of an empty tensor serves as any.
    """
    if 0 in shape:
        return True
    whole = source.padded_shape(shape)
    if whole != target.padded_shape(shape):
        return False
    if source.pads(shape) and not fills(source, target):
        return False
    return memory_runs(whole, source) == memory_runs(whole, target)


def fills(source: Layout, target: Layout) -> bool:
    """Whether the padding of ``source`` meets the padding contract of ``target``."""
    return target.padding in (source.padding, Padding.ANY)


def same_tiles(shape: Sequence[int], source: Layout, target: Layout) -> bool:
    """Whether both pad the same dims with the same tiles, in any order.

    Of the other dims, those that both tile have one tile too: a loop is tiled in one way.
    """
    ragged = [
        d for d, n in enumerate(shape) if n % source.tile_of(d) != 0 or n % target.tile_of(d) != 0
    ]
    both = [d for d in source.inner_dims_pos if d in target.inner_dims_pos]
    return bool(ragged) and all(source.tile_of(d) == target.tile_of(d) for d in (*ragged, *both))


def memory_runs(shape: Sequence[int], layout: Layout) -> tuple[Run, ...]:
    """Memory order, outermost first, as merged runs over the row-major index of the tensor.

    An empty tensor has none.
    """
    if 0 in shape:
        return ()
    strides = row_major_strides(shape)
    runs = [
        (strides[d] * layout.tile_of(d), -(-shape[d] // layout.tile_of(d)))
        for d in layout.outer_dims_perm
    ] + [(strides[d], t) for d, t in zip(layout.inner_dims_pos, layout.inner_tiles, strict=True)]
    merged: list[Run] = []
    for stride, count in runs:
        if count == 1:
            continue
        if merged and merged[-1][0] == stride * count:
            merged[-1] = (stride, merged[-1][1] * count)
        else:
            merged.append((stride, count))
    return tuple(merged)


def layout_of_runs(shape: Sequence[int], runs: Sequence[Run]) -> Layout | None:
    """The layout of a tensor of ``shape`` with this memory order, None where none has it.

    The inverse of ``memory_runs``, also for another shape of as many elements: this is how a
    layout passes through a reshape. An empty tensor has one layout; sizes that are open are taken
    to be at least one, for in a tensor that turns out to be empty nothing lies anywhere.
    """
    if 0 in shape:
        return None if runs else row_major(len(shape))
    shape = tuple(map(nonempty, shape))
    runs = [(nonempty(stride), nonempty(count)) for stride, count in runs]
    strides = row_major_strides(shape)
    outer: list[int] = []
    below: dict[int, int] = {}  # what each outer dim leaves to its tile
    inner: dict[int, int] = {}
    for stride, count in runs:
        pieces = _split_run(shape, strides, stride, count)
        if pieces is None:
            return None
        for d, step, size in pieces:
            if not inner and d not in below and step * size == shape[d]:
                outer.append(d)
                below[d] = step
            elif step == 1 and d not in inner and size == below.get(d, shape[d]):
                inner[d] = size
            else:
                return None
    if any(tile != inner.get(d, 1) for d, tile in below.items()):
        return None
    for d in range(len(shape)):
        if d not in below:  # one element or one tile: it may stand anywhere
            outer.insert(next((i for i, o in enumerate(outer) if o > d), len(outer)), d)
    if any(shape[d] != 1 and d not in below and d not in inner for d in outer):
        return None
    if any(isinstance(tile, Size) for tile in inner.values()):
        return None  # a tile is a number
    return Layout(tuple(outer), tuple(inner), tuple(inner.values()))


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements between neighbours along each dim, in row-major order."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return tuple(strides)


def _split_run(
    shape: Sequence[int], strides: Sequence[int], stride: int, count: int
) -> list[tuple[int, int, int]] | None:
    """A run as pieces (dim, tile below, count) that each lie within one dim, outermost first."""
    try:
        return _pieces(shape, strides, stride, count)
    except Undecided:
        return None


def _pieces(
    shape: Sequence[int], strides: Sequence[int], stride: int, count: int
) -> list[tuple[int, int, int]] | None:
    pieces: list[tuple[int, int, int]] = []
    low, rest = stride, count
    for d in range(len(shape) - 1, -1, -1):
        if rest == 1:
            break
        end = strides[d] * shape[d]
        if shape[d] == 1 or not _inside(low, strides[d], end):
            continue
        room = end // low
        if low % strides[d] != 0 or end % low != 0:
            return None
        step = _least(room, rest)
        if rest % step != 0 or (step != room and step < rest):
            return None
        pieces.insert(0, (d, low // strides[d], step))
        low, rest = low * step, rest // step
    return pieces if rest == 1 else None


def _inside(low: int, stride: int, end: int) -> bool:
    """Whether a run that begins with this stride lies in a dim of this stride and end."""
    if not any(isinstance(n, Size) for n in (low, stride, end)):
        return stride <= low < end
    return low == stride or (low != end and divides(stride, low) and divides(low, end))


def _least(one: int, other: int) -> int:
    """The lesser of two; of open sizes, the one that divides the other."""
    if not isinstance(one, Size) and not isinstance(other, Size):
        return min(one, other)
    return one if divides(one, other) else other
