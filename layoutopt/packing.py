"""Packed forms of contractions: which tiled layouts their operands may take together.

A contraction is packed by tiling loops that stand alone in the maps: one of m, one of n, one of
k (of a depthwise convolution: one batch loop, its channels). The tiles go innermost, in the order
of the loops outside, and that is one of a few. Like upstream's ``pack_greedily`` it serves every
op that multiplies and adds up, named or generic; here each order is a choice, since the outer
order of one op has to suit its neighbours.

A tile that does not divide its loop gives way to the largest divisor below it, or stays and is
padded: with zeros where the loop is summed over. Where it is not, the padding of the operands may
be anything, and so is that of the result; zeros in it give zeros.
"""

from __future__ import annotations

import importlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.affine import IndexMap
from layoutopt.cluster import is_windowed
from layoutopt.errors import InputError
from layoutopt.graph import Structured
from layoutopt.layout import Layout
from layoutopt.mlir.named import named_op
from layoutopt.neutral import Padding
from layoutopt.preference import Roles, canonical, ordered, roles
from layoutopt.profiles.op_pattern import ROLES, OpPattern
from layoutopt.profiles.target import Tile
from layoutopt.types import TensorType

Loops = tuple[int, ...]
Fit = Callable[[int, int], int]
"""The tile that is taken for a loop of some size in place of the menu's."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Layouts of the three operands of a contraction that go together."""

    lhs: Layout
    rhs: Layout
    result: Layout
    mmt4d: bool = True
    """Written as ``linalg.mmt4d``, left out where the maps do not match; else as a generic."""


PackingRule = Callable[[Structured, tuple[TensorType, ...]], Iterable[Packing]]
"""A user's own packings of a contraction over tensors of these types; none where it has none."""


@dataclass(frozen=True, slots=True)
class Menu:
    """What packed contractions may look like on a target."""

    tiles: Mapping[str, tuple[Tile, ...]] = field(default_factory=dict)
    """Tiles by element type of the contraction's inputs."""
    custom: PackingRule | None = None
    patterns: tuple[OpPattern, ...] = ()
    """Packings of the contractions that meet some conditions."""


def packings(
    op: Structured, types: tuple[TensorType, ...], menu: Menu, constant_rhs: bool, name: str = ""
) -> tuple[Packing, ...]:
    """The packed forms of a contraction, each once: the user's own, then those of the menu.

    ``constant_rhs``: the second input is a weight and takes whatever layout suits the op.
    ``name``: of the op in the report.
    """
    lhs, rhs = op.sources
    found: dict[Packing, None] = {}
    for packing in menu.custom(op, types) if menu.custom is not None else ():
        found[_checked(packing, op, types)] = None
    matching = [p for p in menu.patterns if meets(p, op, types, name)]
    for pattern in matching:
        found |= dict.fromkeys(_patterned(pattern, op, types))
    tiles = () if any(p.only for p in matching) else menu.tiles.get(types[lhs].element, ())
    tensors = (lhs, rhs, op.results[0])
    for tile in _suited(op, tiles):
        for fit in (fitting, padding) if not tile.mmt4d else (padding,):
            for blocking in _blockings(op, tile, fit):
                rights = blocking.rhs[:1] if constant_rhs else blocking.rhs
                for orders in itertools.product(blocking.lhs, rights, blocking.result):
                    for promises in _promises(op, blocking, constant_rhs):
                        left, right, made = (
                            _blocked(m, types[t], order, blocking.tiles, promise)
                            for m, t, order, promise in zip(
                                op.maps, tensors, orders, promises, strict=True
                            )
                        )
                        found[Packing(left, right, made, tile.mmt4d)] = None
    return tuple(found)


def _suited(op: Structured, tiles: Sequence[Tile]) -> list[Tile]:
    """The tiles without those that a taller one makes needless: it is filled as well."""
    rows = max((op.domain[d] for d in roles(op).m), default=1)
    return [
        t
        for t in tiles
        if not any(
            other.m > t.m and other.m <= rows and replace(other, m=t.m) == t for other in tiles
        )
    ]


def _promises(
    op: Structured, blocking: _Blocking, constant_rhs: bool
) -> tuple[tuple[Padding, Padding, Padding], ...]:
    """What the paddings of the two inputs and of the result may hold together."""
    padded = [d for d, tile in blocking.tiles if op.domain[d] % tile]
    zeros = (Padding.ZERO,) * 3
    if not padded or any(d in op.reduction_dims for d in padded):
        return (zeros,)
    return ((Padding.ANY, Padding.ZERO if constant_rhs else Padding.ANY, Padding.ANY), zeros)


def _checked(packing: Packing, op: Structured, types: tuple[TensorType, ...]) -> Packing:
    """A user's packing in canonical form. Raises InputError where it does not fit the op."""
    layouts = (packing.lhs, packing.rhs, packing.result)
    shapes = [types[t].shape for t in (*op.sources, *op.results)]
    for layout, shape in zip(layouts, shapes, strict=True):
        if layout.rank != len(shape) or layout.pads(shape):
            raise InputError(
                "custom packing",
                f"a layout of a tensor of shape {list(shape)} with tiles that divide",
                str(layout),
                "return no packing for contractions that it does not suit",
            )
    left, right, made = (canonical(n, x) for n, x in zip(shapes, layouts, strict=True))
    return Packing(left, right, made, packing.mmt4d)


def meets(pattern: OpPattern, op: Structured, types: tuple[TensorType, ...], name: str) -> bool:
    """Whether a contraction, by its name in the report, meets all conditions of a pattern."""
    r = roles(op)
    loops = {"batch": r.batch, "m": r.m, "n": r.n, "k": (*r.k, *r.window)}
    named = named_op(op)
    elements = tuple(types[t].element for t in (*op.sources, *op.results))
    return (
        pattern.kind in (None, "convolution" if is_windowed(op) else "contraction")
        and pattern.named in ("", named.name if named is not None else None)
        and (not pattern.name or re.fullmatch(pattern.name, name) is not None)
        and pattern.types in ((), elements)
        and all(
            math.prod(op.domain[d] for d in loops[role]) in sizes for role, sizes in pattern.sizes
        )
    )


def _patterned(
    pattern: OpPattern, op: Structured, types: tuple[TensorType, ...]
) -> Iterator[Packing]:
    """The packing of a pattern, nothing where none of its tiles fits a loop."""
    r = roles(op)
    loops = {"batch": r.batch, "m": r.m, "n": r.n, "k": r.k}
    tiles = {
        role: _tiled(op, _alone(op, loops[role]), size, fitting) for role, size in pattern.tile
    }
    if not any(tiles.values()):
        return
    named = (*pattern.inner, *(role for role in tiles if role not in pattern.inner))
    inner = tuple(tile for role in named for tile in tiles.get(role, ()))
    layouts = []
    for index_map, tensor, chosen in zip(
        op.maps, (*op.sources, *op.results), pattern.outer, strict=True
    ):
        first = tuple(d for role in ROLES if role not in chosen for d in loops[role])
        order = (*first, *(d for role in chosen for d in loops[role]), *r.window)
        outer = ordered(index_map, order)
        layouts.append(_tiled_layout(index_map, types[tensor], outer, inner))
    lhs, rhs, result = layouts
    yield Packing(lhs, rhs, result, pattern.mmt4d)


def load_rule(name: str) -> PackingRule:
    """The callable ``package.module:name``. Raises InputError where there is none."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"packing.custom '{name}'",
            "a callable, as package.module:name",
            str(error),
            "correct the name or put its folder on PYTHONPATH",
        ) from error
    rule: PackingRule = found
    return rule


@dataclass(frozen=True, slots=True)
class _Blocking:
    """Tiled loops with their tiles, innermost last, and the outer orders worth having."""

    tiles: tuple[tuple[int, int], ...]
    lhs: tuple[Loops, ...]
    rhs: tuple[Loops, ...]
    result: tuple[Loops, ...]


def _blockings(op: Structured, tile: Tile, fit: Fit) -> Iterator[_Blocking]:
    r = roles(op)
    window = (*r.k, *r.window)
    wide = [d for d in r.m if op.domain[d] > 1]
    if not tile.mmt4d and (is_windowed(op) or len(wide) > 1):
        n, k = _tiled(op, r.n, tile.n, fit), _tiled(op, _alone(op, r.k), tile.k, fit)
        channels = () if n or k else _tiled(op, _alone(op, r.batch), tile.n, fit)
        if n or k or channels:
            yield _Blocking(
                (*channels, *n, *k),
                ((*r.batch, *r.k, *r.m),),
                ((*r.batch, *r.n, *window),),
                ((*r.batch, *r.n, *r.m),),
            )
    if not is_windowed(op) and len(wide) <= 1:
        m, n, k = (
            _tiled(op, loops, size, fit)
            for loops, size in ((r.m, tile.m), (r.n, tile.n), (r.k, tile.k))
        )
        if m or n or k:
            yield _matmul_blocking(r, (*m, *n, *k))


def _matmul_blocking(r: Roles, tiles: tuple[tuple[int, int], ...]) -> _Blocking:
    return _Blocking(
        tiles,
        tuple(dict.fromkeys([(*r.batch, *r.m, *r.k), (*r.m, *r.batch, *r.k)])),
        tuple(
            dict.fromkeys(
                [
                    (*r.batch, *r.n, *r.k),
                    (*r.n, *r.batch, *r.k),
                    (*r.k, *r.batch, *r.n),
                    (*r.batch, *r.k, *r.n),
                ]
            )
        ),
        tuple(dict.fromkeys([(*r.batch, *r.m, *r.n), (*r.m, *r.batch, *r.n)])),
    )


def _tiled(
    op: Structured, loops: Sequence[int], tile: int, fit: Fit
) -> tuple[tuple[int, int], ...]:
    """The innermost loop that a tile fits into, with the tile; nothing where none does."""
    whole = [d for d in reversed(loops) if op.domain[d] % tile == 0]
    for loop in (*whole, *reversed(loops)):
        size = fit(op.domain[loop], tile)
        if size > 1:
            return ((loop, size),)
    return ()


def fitting(size: int, tile: int) -> int:
    """The largest divisor of ``size`` that is at most ``tile``."""
    return next(t for t in range(min(size, tile), 0, -1) if size % t == 0)


def padding(size: int, tile: int) -> int:
    """The tile itself, whose last one is filled up; 1 for a loop of one step."""
    return tile if size > 1 else 1


def _alone(op: Structured, loops: Loops) -> Loops:
    """Loops that stand alone wherever they are read: only these can be tiled."""
    return tuple(
        d
        for d in loops
        if all(form.plain_dim == d for m in op.maps for form in m if d in form.dims)
    )


def _blocked(
    index_map: IndexMap,
    kind: TensorType,
    order: Loops,
    tiles: tuple[tuple[int, int], ...],
    promise: Padding,
) -> Layout:
    tile = dict(tiles)
    inner = tuple((loop, tile[loop]) for loop in order if loop in tile)
    outer = ordered(index_map, order)
    return _tiled_layout(index_map, kind, outer, inner, promise)


def _tiled_layout(
    index_map: IndexMap,
    kind: TensorType,
    outer: tuple[int, ...],
    tiles: tuple[tuple[int, int], ...],
    promise: Padding = Padding.ZERO,
) -> Layout:
    """``outer``: dims of the operand; ``tiles``: (loop, size), in the order of the inner dims."""
    axis = {form.plain_dim: a for a, form in enumerate(index_map)}
    inner = [(axis[loop], size) for loop, size in tiles if loop in axis]
    layout = Layout(outer, tuple(a for a, _ in inner), tuple(size for _, size in inner))
    return canonical(kind.shape, layout.padded_with(promise))
