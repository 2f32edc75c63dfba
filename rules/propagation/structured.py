"""Layouts through a structured op.

    generic(maps) over x:L, y:L', ...   ->   generic(maps') over the memory forms

Every permutation of an operand's dims is a permutation of its map's results, so any mix of
untiled layouts has a form. A tile of an operand's dim is a tile of the iteration dim that
stands there alone: ``d -> tile * outer + inner``. An operand that does not tile it is split by a
reshape; one that reads ``d`` in a sum reads ``tile * outer + inner``. Sound because only the order
of visiting points changes, and a reduction that depends on that order (argmax takes the first of
equals) keeps its own. Sums of floats are reassociated. A tile that does not divide ``d`` makes
points past its end; ``padding.py`` says what becomes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutopt.ir.affine import Affine, IndexMap, affine, plain_map
from layoutopt.ir.graph import FromTensor, IteratorType, Reshape, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.scalar import is_reassociable
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation.body import tiled_body
from layoutopt.rules.propagation.padding import masks
from layoutopt.rules.propagation.padding_contract import with_padding_contract


class StructuredLayouts:
    """The propagation rule of linalg ops, named and generic."""

    name = "structured-layouts"

    def propagate(
        self, op: Structured, types: tuple[TensorType, ...], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Order every operand as ``layout`` orders the iteration dims; tiles go along."""
        tensors = (*op.sources, *op.results)
        at = {
            i.tensor: r
            for i, r in zip(op.inits, op.results, strict=True)
            if isinstance(i, FromTensor)
        }
        given = op.maps[tensors.index(tensor if tensor in tensors else at[tensor])]
        rank: dict[int, int] = {}
        for d in layout.outer_dims_perm:
            for loop in given[d].dims:
                rank.setdefault(loop, len(rank))
        tiles = _tiled_loops([given], [layout])
        if isinstance(tiles, Refusal):
            return tiles
        found: dict[int, Layout] = {tensor: layout}
        for other, index_map in zip(tensors, op.maps, strict=True):
            if other in found:
                continue
            found[other] = _ordered(index_map, rank, tiles, types[other].shape)
        for start, result in at.items():
            found.setdefault(start, found[result])
        padded = _padded(op, tiles)
        return with_padding_contract(op, types, padded, tensor, found) if padded else found

    def relayout(self, op: Structured, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Add the op over the memory forms of its operands."""
        operands = (*op.sources, *op.results)
        for result, init in zip(op.results, op.inits, strict=True):
            if isinstance(init, FromTensor) and layouts[init.tensor] != layouts[result].padded_with(
                layouts[init.tensor].padding
            ):
                return Refusal("expected init and result in one layout, but they differ")
        loops = _loops(op, [layouts[t] for t in operands], physical.types)
        if isinstance(loops, Refusal):
            return loops
        tile, outer, inner = loops
        masked = masks(op, layouts, physical.types, _padded(op, tile))
        if isinstance(masked, Refusal):
            return masked
        body = tiled_body(op, tile, inner, masked)
        maps = tuple(
            _relaid_map(m, layouts[t], tile, outer, inner)
            for t, m in zip(operands, op.maps, strict=True)
        )
        order = _loop_order(op, maps, outer, inner)
        renumber = {old: new for new, old in enumerate(order)}
        sizes = {outer[d]: -(-n // tile.get(d, 1)) for d, n in enumerate(op.domain)}
        sizes |= {inner[d]: tile[d] for d in inner}
        kind = {outer[d]: op.iterators[d] for d in outer} | {
            inner[d]: op.iterators[d] for d in inner
        }
        split = _Split(op, layouts, physical, tile)
        sources = tuple(map(split.read, op.sources, op.source_maps))
        inits = tuple(
            FromTensor(split.read(i.tensor, m)) if isinstance(i, FromTensor) else i
            for i, m in zip(op.inits, op.result_maps, strict=True)
        )
        results = tuple(map(split.written, op.results, op.result_maps))
        physical.builder.add(
            replace(
                op,
                sources=sources,
                inits=inits,
                results=results,
                domain=tuple(sizes[d] for d in order),
                iterators=tuple(kind[d] for d in order),
                maps=tuple(tuple(f.renamed(renumber) for f in m) for m in maps),
                body=body.with_index_dims(renumber),
            )
        )
        for made, place in split.pieces:
            physical.builder.add(Reshape(made, place))
        return None


def _ordered(
    index_map: IndexMap,
    rank: dict[int, int],
    tiles: dict[int, int],
    shape: tuple[int, ...],
) -> Layout:
    """Dims sorted by the loops they belong to; loops that are not ranked keep their place."""
    keys: list[tuple[int, int]] = []
    last = -1
    for d, form in enumerate(index_map):
        ranks = [rank[loop] for loop in form.dims if loop in rank]
        last = min(ranks) if ranks else last if shape[d] != 1 else len(rank)
        keys.append((last, d))
    perm = tuple(d for _, d in sorted(keys))
    inner = []
    for loop, tile in tiles.items():
        inner += [(d, tile) for d, form in enumerate(index_map) if form.plain_dim == loop]
    return Layout(perm, tuple(d for d, _ in inner), tuple(t for _, t in inner))


def _loops(
    op: Structured, layouts: list[Layout], types: tuple[TensorType, ...]
) -> tuple[dict[int, int], dict[int, int], dict[int, int]] | Refusal:
    """The tile of each tiled loop, and the numbers of all outer and of the inner loops."""
    tile = _tiled_loops(op.maps, layouts)
    if isinstance(tile, Refusal):
        return tile
    for loop in _padded(op, tile):
        for index_map, layout in zip(op.maps, layouts, strict=True):
            for d, form in enumerate(index_map):
                if loop in form.dims and d not in layout.inner_dims_pos:
                    return Refusal(
                        f"expected tiles of {tile[loop]} wherever the padded loop d{loop} is read, "
                        f"but dim {d} is '{form}' in {layout}"
                    )
    outer = {d: d for d in range(len(op.domain))}
    inner = {d: len(op.domain) + i for i, d in enumerate(sorted(tile))}
    return tile, outer, inner


def _tiled_loops(maps: Sequence[IndexMap], layouts: Sequence[Layout]) -> dict[int, int] | Refusal:
    """The tile of each loop that some operand tiles; a diagonal tiles its loop in two dims."""
    tile: dict[int, int] = {}
    for index_map, layout in zip(maps, layouts, strict=True):
        for d, size in zip(layout.inner_dims_pos, layout.inner_tiles, strict=True):
            loop = index_map[d].plain_dim
            if loop is None:
                return Refusal(
                    f"expected a tiled dim to be one plain loop, but dim {d} is '{index_map[d]}'"
                )
            if tile.setdefault(loop, size) != size:
                return Refusal(
                    f"expected one tile for loop d{loop}, but got {tile[loop]} and {size}"
                )
    return tile


def _padded(op: Structured, tile: dict[int, int]) -> tuple[int, ...]:
    """The loops that run past their end."""
    return tuple(sorted(d for d, size in tile.items() if op.domain[d] % size != 0))


def _relaid_map(
    index_map: IndexMap,
    layout: Layout,
    tile: dict[int, int],
    outer: dict[int, int],
    inner: dict[int, int],
) -> IndexMap:
    def whole(form: Affine) -> Affine:
        terms: list[tuple[int, int]] = []
        for d, c in form.terms:
            terms.append((outer[d], c * tile.get(d, 1)))
            if d in inner:
                terms.append((inner[d], c))
        return affine(terms, form.offset)

    forms: list[Affine] = []
    for d in layout.outer_dims_perm:
        loop = index_map[d].plain_dim
        if loop is None:
            forms.append(whole(index_map[d]))
            continue
        forms += plain_map([outer[loop]])
        if loop in inner and d not in layout.inner_dims_pos:
            forms += plain_map([inner[loop]])
    for d in layout.inner_dims_pos:
        loop = index_map[d].plain_dim
        assert loop is not None
        forms.append(plain_map([inner[loop]])[0])
    return tuple(forms)


class _Split:
    """Operands that do not tile a dim whose loop is tiled: read and written as tiles all the same.

    Splitting a dim is a reshape and moves nothing; every dim is then one plain loop, which is what
    compilers are fast on (IREE cannot distribute ``d0 * 8 + d1``).
    """

    def __init__(
        self, op: Structured, layouts: Assignment, physical: Physical, tile: dict[int, int]
    ) -> None:
        self.op, self.layouts, self.physical, self.tile = op, layouts, physical, tile
        self.pieces: list[tuple[int, int]] = []
        """(result as tiles, the physical tensor that it is reshaped to)."""

    def read(self, tensor: int, index_map: IndexMap) -> int:
        """The tensor to read."""
        place = self.physical.tensor(tensor, self.layouts[tensor])
        shape = self._shape(tensor, index_map)
        if shape is None:
            return place
        made = self.physical.builder.tensor(shape, self.physical.types[tensor].element)
        self.physical.builder.add(Reshape(place, made))
        return made

    def written(self, tensor: int, index_map: IndexMap) -> int:
        """The tensor to write."""
        place = self.physical.tensor(tensor, self.layouts[tensor])
        shape = self._shape(tensor, index_map)
        if shape is None:
            return place
        made = self.physical.builder.tensor(shape, self.physical.types[tensor].element)
        self.pieces.append((made, place))
        return made

    def _shape(self, tensor: int, index_map: IndexMap) -> tuple[int, ...] | None:
        layout, kind = self.layouts[tensor], self.physical.types[tensor]
        shape: list[int] = []
        for d, size in zip(layout.outer_dims_perm, layout.physical_shape(kind.shape), strict=False):
            loop = index_map[d].plain_dim
            if loop in self.tile and d not in layout.inner_dims_pos:
                shape += [size // self.tile[loop], self.tile[loop]]
            else:
                shape.append(size)
        whole = (*shape, *layout.inner_tiles)
        return None if len(whole) == len(layout.physical_shape(kind.shape)) else whole


def _loop_order(
    op: Structured, maps: tuple[IndexMap, ...], outer: dict[int, int], inner: dict[int, int]
) -> list[int]:
    """Parallel loops as the result lies in memory, then the rest as the first input does.

    Reductions that depend on the order of their points keep it.
    """
    order: list[int] = []
    for index_map in (*maps[len(op.sources) :], *maps):
        for form in index_map:
            order += [d for d in form.dims if d not in order]
    every = [number[d] for d in outer for number in (outer, inner) if d in number]
    order += [d for d in every if d not in order]
    kind = {outer[d]: op.iterators[d] for d in outer} | {inner[d]: op.iterators[d] for d in inner}
    folded = order if is_reassociable(op.body, len(op.results)) else every
    return [d for d in order if kind[d] is IteratorType.PARALLEL] + [
        d for d in folded if kind[d] is IteratorType.REDUCTION
    ]
