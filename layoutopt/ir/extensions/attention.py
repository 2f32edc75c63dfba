"""``iree_linalg_ext.attention``: products of queries and keys, their softmax, products with values.

attention(q:L, k:L', v:L'') -> y:L'''        where each is any order of its dims, tiles included

Every tensor is read by a map of its own, so that an order of dims is another map, and a tile
another loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from layoutopt.ir.affine import map_text, plain_map
from layoutopt.ir.extension import Evaluated, EvaluatedExtension, Occurrence
from layoutopt.ir.extensions.attention_tiles import (
    Loops,
    Operands,
    open_without_tiles,
    split_maps,
    tile_refusal,
    tiled_layouts,
)
from layoutopt.ir.graph import Reshape
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.region import known_errors, plain_maps, yielded_argument
from layoutopt.ir.size_values import empty_text
from layoutopt.ir.types import Array, TensorType, numpy_dtype, roundoff

if TYPE_CHECKING:
    from layoutopt.ir.relayout import Physical

_ROUNDINGS = 128
"""Of the exponential, which IREE approximates, of the difference, the quotient and the casts."""
_COARSE = 4
"""Roundings of a score to the type of the queries: the scale, and these times the scale."""


@dataclass(frozen=True, slots=True)
class Attention(EvaluatedExtension):
    """``sources``: queries, keys, values and a mask where there is one.

    ``maps``: for each of these and the result, the loop that each dim is. A loop of keys and values
    alone is what the softmax runs along.
    """

    maps: tuple[Loops, ...] = ()
    scale: str = "1.0 : f32"
    score: str = "f32"
    """The element type of the products of queries and keys."""
    joined: bool = False
    """Whether a rule made it of its parts, which are another way to compute it already."""

    mlir_name = "iree_linalg_ext.attention"

    @classmethod
    def operands(cls, operation: Any) -> Sequence[Any]:
        """The tensors read; the scale is a number and the init of the result is never read."""
        query, key, value, _, *rest = operation.operands
        return [query, key, value, *rest[:-1]]

    @classmethod
    def read(cls, found: Occurrence) -> Attention | Refusal:
        """The op; its scale has to be a constant, and its region leaves the scores as they are."""
        scale = getattr(found.operation.operands[3].owner, "attributes", {})
        if "value" not in scale or "0x" in str(scale["value"]):
            return Refusal("expected a constant scale, but it is computed")
        if yielded_argument(found.operation) is None:
            return Refusal("expected a region that yields the score, but it changes it")
        maps = plain_maps(str(found.operation.attributes["indexing_maps"]))
        if maps is None:
            return Refusal("expected maps of plain dims, but got others")
        maps = (*maps[:3], *maps[4:])
        made = cls(
            found.sources,
            found.results,
            maps,
            str(scale["value"]),
            str(found.operation.regions[0].blocks[0].arguments[0].type),
        )
        return made._unknown(found.types) or made

    @classmethod
    def examples(cls) -> tuple[tuple[Attention, tuple[TensorType, ...]], ...]:
        """One head, heads with a mask, and queries that share keys, with values transposed."""
        plain = ((0, 1, 3), (0, 4, 3), (0, 4, 2), (0, 1, 2))
        heads = ((0, 1, 2, 4), (0, 1, 5, 4), (0, 1, 5, 3), (2, 5), (0, 1, 2, 3))
        shared = ((0, 1, 2, 4), (0, 5, 4), (0, 3, 5), (0, 2, 5), (0, 2, 1, 3))
        return (
            _example(plain, (2, 6, 8, 4, 10)),
            _example(heads, (1, 3, 6, 8, 4, 10), "f32"),
            _example(shared, (2, 3, 5, 8, 4, 7), "i1"),
        )

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op."""
        (result,) = self.results
        kind, loops = types[result], self._rank()
        maps = [map_text(plain_map(m), loops) for m in self.maps]
        maps.insert(3, map_text((), loops))
        names = [f"%t{t}" for t in self.sources]
        names.insert(3, f"%t{result}_scale")
        kinds = [str(types[t]) for t in self.sources]
        kinds.insert(3, self.scale.split(":")[1].strip())
        return [
            f"  %t{result}_empty = {empty_text(kind)}",
            f"  %t{result}_scale = arith.constant {self.scale}",
            f"  %t{result} = {self.mlir_name} <indexing_maps = [{', '.join(maps)}]> "
            f"ins({', '.join(names)} : {', '.join(kinds)}) outs(%t{result}_empty : {kind}) {{",
            f"  ^bb0(%score: {self.score}):",
            f"    iree_linalg_ext.yield %score : {self.score}",
            f"  }} -> {kind}",
        ]

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """Less the maximum of the scores, as implementations have it."""
        wide = list(map(_wide, values))
        with np.errstate(all="ignore"):
            found = self._weighted(_softmax(self._scores(wide), self.softmax_axes), wide[2])
        return (found.astype(numpy_dtype(types[self.results[0]].element)),)

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """To first order, an error d of all scores changes each share y by 2 d y."""
        fine, coarse = (roundoff(kind) or 0.0 for kind in (self.score, self._coarsest(made.types)))
        wide = list(map(_wide, made.values))
        missing = [known_errors(e, v.shape) for e, v in zip(made.errors, wide, strict=True)]
        with np.errstate(all="ignore"):
            scores = self._scores(wide)
            apart = self._apart(wide, missing, self.terms(made.types) * fine + _COARSE * coarse)
            size = np.where(np.isfinite(scores), np.abs(scores), 0.0)
            along = (apart + _COARSE * fine * size).max(axis=self.softmax_axes, keepdims=True)
            relative = np.expm1(2 * along) + _COARSE * coarse
            relative = relative + (_ROUNDINGS + self.terms(made.types)) * fine
            shares = _softmax(scores, self.softmax_axes)
            error = self._weighted(shares * relative, np.abs(wide[2]) + missing[2])
            error = error + self._weighted(shares, missing[2])
            error = error + 2 * coarse * np.abs(_wide(made.results[0])) + np.finfo(np.float32).tiny
        return (np.where(np.isnan(error), np.inf, error),)

    def terms(self, types: Sequence[TensorType]) -> int:
        """The lengths of both sums."""
        inside = (d for d in self.maps[1] if d not in self.maps[-1])
        key = types[self.sources[1]].shape
        return sum(key[self.maps[1].index(d)] for d in inside)

    def propagate(
        self, types: Sequence[TensorType], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """The dims that all share stand where they stand in the given one; a mask stays."""
        tensors = (*self.sources, *self.results)
        found = {t: row_major(len(own)) for t, own in zip(tensors, self.maps, strict=True)}
        if layout.is_tiled:
            tiled = tiled_layouts(self._operands(types), tensors.index(tensor), layout)
            if isinstance(tiled, Refusal):
                return tiled
            found = dict(zip(tensors, tiled, strict=True))
        elif tensor in (main := (*self.sources[:3], *self.results)) and not layout.is_row_major:
            place = dict(zip(tensors, self.maps, strict=True))
            order = tuple(place[tensor][d] for d in layout.outer_dims_perm)
            for t in main:
                found[t] = _ordered(place[t], order, self._batch())
        found[tensor] = layout
        return self.refusal(found, types) or found

    def refusal(self, layouts: Assignment, types: Sequence[TensorType]) -> Refusal | None:
        """One tile along each loop, and nothing behind the columns that takes part.

        Over open sizes without tiles IREE 3.13 makes a kernel that keeps its sums in memory; what a
        rule joined is left as its parts then.
        """
        own = [layouts[t] for t in (*self.sources, *self.results)]
        if self.joined:
            opened = open_without_tiles(self._operands(types), own)
            if opened is not None:
                return opened
        if not any(layout.is_tiled for layout in own):
            return None
        return tile_refusal(self._operands(types), own)

    def relayout(self, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Without the unit dims outside of whole tiles, around which IREE has no fast kernels."""
        tensors = (*self.sources, *self.results)
        own = [layouts[t] for t in tensors]
        refusal = self.refusal(layouts, physical.types)
        if refusal is not None:
            return refusal
        builder = physical.builder
        maps, shapes = split_maps(self._operands(physical.types), own)
        places = [physical.tensor(t, layouts[t]) for t in tensors]
        inside = [
            t
            if builder.types[t].shape == shape
            else builder.tensor(shape, builder.types[t].element)
            for t, shape in zip(places, shapes, strict=True)
        ]
        for outer, inner in zip(places[:-1], inside[:-1], strict=True):
            if outer != inner:
                builder.add(Reshape(outer, inner))
        builder.add(replace(self, sources=tuple(inside[:-1]), results=(inside[-1],), maps=maps))
        if inside[-1] != places[-1]:
            builder.add(Reshape(inside[-1], places[-1]))
        return None

    def _operands(self, types: Sequence[TensorType]) -> Operands:
        return Operands(self.maps, tuple(types[t] for t in (*self.sources, *self.results)))

    def _unknown(self, types: Sequence[TensorType]) -> Refusal | None:
        kinds = [types[t].element for t in (*self.sources[:3], *self.results)]
        masks = [types[t].element for t in self.sources[3:]]
        if any(roundoff(k) is None for k in kinds) or set(masks) - {"i1", *kinds}:
            return Refusal(f"expected floats, but got {', '.join((*kinds, *masks))}")
        query, key, value, *mask, result = map(set, self.maps)
        between = (query & key) - value - result
        along = (key & value) - query - result
        outside = set().union(*mask) - {*self.scored}
        if (query | key | value) ^ (between | along | result) or outside:
            return Refusal("expected loops of queries, keys and values, but got others")
        return None

    def loops(self, types: Sequence[TensorType]) -> Mapping[int, Sequence[Hashable]]:
        """Those of the maps."""
        return dict(zip((*self.sources, *self.results), self.maps, strict=True))

    def sizes(self, types: Sequence[TensorType]) -> dict[int, int]:
        """Of each loop its size; ``types``: of the sources and of the result."""
        return {
            d: size
            for loops, kind in zip(self.maps, types, strict=True)
            for d, size in zip(loops, kind.shape, strict=True)
        }

    def _rank(self) -> int:
        return 1 + max(d for own in self.maps for d in own)

    def _batch(self) -> frozenset[int]:
        """The loops of all tensors, the mask aside."""
        return frozenset.intersection(*map(frozenset, (*self.maps[:3], self.maps[-1])))

    @property
    def scored(self) -> tuple[int, ...]:
        """The loops of the scores, in order."""
        query, key, value, result = map(set, (*self.maps[:3], self.maps[-1]))
        return tuple(sorted((query | key) - ((query & key) - value - result)))

    @property
    def softmax_axes(self) -> tuple[int, ...]:
        """The dims of the scores that the softmax runs along."""
        return tuple(i for i, d in enumerate(self.scored) if d not in self.maps[-1])

    def _scale(self) -> float:
        return float(self.scale.split(":")[0])

    def _coarsest(self, types: Sequence[TensorType]) -> str:
        kinds = [types[t].element for t in (*self.sources[:3], *self.results)]
        return max(kinds, key=lambda kind: roundoff(kind) or 0.0)

    def _products(self, query: Array, key: Array) -> Array:
        return _sums(query, self.maps[0], key, self.maps[1], self.scored)

    def _weighted(self, shares: Array, value: Array) -> Array:
        return _sums(shares, self.scored, value, self.maps[2], self.maps[-1])

    def _scores(self, wide: Sequence[Array]) -> Array:
        found = self._scale() * self._products(wide[0], wide[1])
        return found + self._spread(wide[3]) if len(wide) > 3 else found

    def _apart(self, wide: Sequence[Array], missing: Sequence[Array], rounding: float) -> Array:
        """How far the scores may be off."""
        sizes = [np.abs(v) for v in wide[:2]]
        most = self._products(sizes[0] + missing[0], sizes[1] + missing[1])
        own = most - self._products(sizes[0], sizes[1]) + rounding * most
        found = abs(self._scale()) * own
        return found + self._spread(missing[3]) if len(wide) > 3 else found

    def _spread(self, mask: Array) -> Array:
        """A mask along the loops of the scores."""
        own = self.maps[3]
        moved = mask.transpose(sorted(range(len(own)), key=own.__getitem__))
        sizes = iter(moved.shape)
        return moved.reshape([next(sizes) if d in own else 1 for d in self.scored])


def _wide(array: Array) -> Array:
    """Floats; a truth value says whether a score counts."""
    return np.where(array, 0.0, -np.inf) if array.dtype == bool else array.astype(np.float64)


def _sums(one: Array, one_map: Loops, other: Array, other_map: Loops, result: Loops) -> Array:
    made = np.einsum(one, list(one_map), other, list(other_map), list(result))
    return np.asarray(made)


def _softmax(scores: Array, axes: Loops) -> Array:
    raised = np.exp(scores - scores.max(axis=axes, keepdims=True, initial=-np.inf))
    return np.asarray(raised / raised.sum(axis=axes, keepdims=True))


def _ordered(own: Loops, order: Loops, shared: frozenset[int]) -> Layout:
    """Dims of a tensor in the order of another one's loops, those aside that are not shared."""
    others = iter(d for d in own if d not in shared)
    loops: list[int] = []
    for loop in order:
        following = loop if loop in shared else next(others, None)
        loops += [] if following is None else [following]
    loops += others
    return Layout(tuple(map(own.index, loops)))


def _example(
    maps: tuple[Loops, ...], sizes: Sequence[int], mask: str | None = None
) -> tuple[Attention, tuple[TensorType, ...]]:
    """``sizes``: of the loops; ``mask``: its element type, where there is one."""
    kinds = ["f32"] * 3 + ([] if mask is None else [mask]) + ["f32"]
    types = tuple(
        TensorType(tuple(sizes[d] for d in own), kind)
        for own, kind in zip(maps, kinds, strict=True)
    )
    count = len(maps) - 1
    return Attention(tuple(range(count)), (count,), maps, "5.000000e-01 : f32"), types
