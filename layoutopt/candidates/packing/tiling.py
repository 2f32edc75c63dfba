"""A contraction over tiles: what its three operands look like together.

A tile that does not divide its loop gives way to the largest divisor below it, or stays and is
padded: with zeros where the loop is summed over. Where it is not, the padding of the operands may
be anything, and so is that of the result: a float beside zeros may be infinite. Integers give zeros
for zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from layoutopt.ir.affine import IndexMap
from layoutopt.ir.canonical_layout import canonical
from layoutopt.ir.graph import Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType, is_float

Loops = tuple[int, ...]
Fit = Callable[[int, int], int]
"""The tile that is taken for a loop of some size in place of the one asked for."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Layouts of the three operands of a contraction that go together."""

    lhs: Layout
    rhs: Layout
    result: Layout
    mmt4d: bool = True
    """Written as ``linalg.mmt4d``, left out where the maps do not match; else as a generic."""

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        """Of the two inputs and the result."""
        return self.lhs, self.rhs, self.result


PackingRule = Callable[[Structured, tuple[TensorType, ...]], Iterable[Packing]]
"""A user's own packings of a contraction over tensors of these types; none where it has none."""


def tiled(op: Structured, loops: Sequence[int], tile: int, fit: Fit) -> tuple[tuple[int, int], ...]:
    """The innermost loop that a tile fits into, with the tile; nothing where none does."""
    whole = [d for d in reversed(loops) if op.domain[d] % tile == 0]
    for loop in (*whole, *reversed(loops)):
        size = fit(op.domain[loop], tile)
        if size > 1:
            return ((loop, size),)
    return ()


def fits(mmt4d: bool) -> tuple[Fit, ...]:
    """How a tile may be fitted to a loop; one with a microkernel stays as it is."""
    return (padding,) if mmt4d else (fitting, padding)


def fitting(size: int, tile: int) -> int:
    """The largest number up to ``tile`` that divides ``size`` for certain."""
    most = tile if isinstance(size, Size) else min(size, tile)
    return next(t for t in range(most, 0, -1) if size % t == 0)


def padding(size: int, tile: int) -> int:
    """The tile itself, whose last one is filled up; 1 for a loop of one step."""
    return tile if size != 1 else 1


def plain_loops(op: Structured, loops: Loops) -> Loops:
    """Loops that stand alone wherever they are read: only these can be tiled."""
    return tuple(
        d
        for d in loops
        if all(form.plain_dim == d for m in op.maps for form in m if d in form.dims)
    )


def padding_variants(
    packing: Packing, op: Structured, types: Sequence[TensorType], constant_rhs: bool
) -> Iterator[Packing]:
    """A packing with all that the paddings of its operands may hold together."""
    padded = set(_padded_loops(packing, op, types))
    if padded and padded.isdisjoint(op.reduction_dims):
        right = Padding.ZERO if constant_rhs else Padding.ANY
        yield _with_paddings(packing, op, types, (Padding.ANY, right, Padding.ANY))
    made = Padding.ANY if is_float(types[op.results[0]].element) else Padding.ZERO
    yield _with_paddings(packing, op, types, (Padding.ZERO, Padding.ZERO, made))


def _padded_loops(
    packing: Packing, op: Structured, types: Sequence[TensorType]
) -> Iterator[int | None]:
    tensors = (*op.sources, *op.results)
    for layout, tensor, index_map in zip(packing.layouts, tensors, op.maps, strict=True):
        for axis, size in enumerate(types[tensor].shape):
            if size % layout.tile_of(axis) != 0:
                yield index_map[axis].plain_dim


def _with_paddings(
    packing: Packing,
    op: Structured,
    types: Sequence[TensorType],
    paddings: tuple[Padding, Padding, Padding],
) -> Packing:
    tensors = (*op.sources, *op.results)
    lhs, rhs, result = (
        canonical(types[tensor].shape, layout.padded_with(padding))
        for tensor, layout, padding in zip(tensors, packing.layouts, paddings, strict=True)
    )
    return Packing(lhs, rhs, result, packing.mmt4d)


def tiled_layout(
    index_map: IndexMap,
    kind: TensorType,
    outer: tuple[int, ...],
    tiles: tuple[tuple[int, int], ...],
) -> Layout:
    """``outer``: dims of the operand; ``tiles``: (loop, size), in the order of the inner dims."""
    axis = {form.plain_dim: a for a, form in enumerate(index_map)}
    inner = [(axis[loop], size) for loop, size in tiles if loop in axis]
    layout = Layout(outer, tuple(a for a, _ in inner), tuple(size for _, size in inner))
    return canonical(kind.shape, layout)


def ordered(index_map: IndexMap, order: tuple[int, ...]) -> tuple[int, ...]:
    """The dims of an operand in the order of the loops that they are read by."""
    place = {loop: i for i, loop in enumerate(order)}
    keys = [
        (min((place[d] for d in form.dims if d in place), default=len(order)), axis)
        for axis, form in enumerate(index_map)
    ]
    return tuple(axis for _, axis in sorted(keys))
