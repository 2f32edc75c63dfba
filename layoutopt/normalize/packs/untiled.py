"""The op that runs over tiles, over whole dims: an outer and an inner loop become one.

    generic over (o, i), tile t    ->    generic over d = t * o + i

Each operand that both loops read is unpacked, each result is what a pack of the new one is. Where
the new loop is shorter than all tiles together, what is left out is padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from layoutopt.ir.affine import Affine, IndexMap, affine
from layoutopt.ir.graph import FromTensor, Graph, GraphBuilder, Init, Structured, Unpack
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Refusal
from layoutopt.normalize.packs.packed_operands import Known, Pairs, is_whole, layout_of, pack_of
from layoutopt.normalize.packs.round_trip import read_through
from layoutopt.normalize.packs.untiled_body import Whole, untiled_body


@dataclass(frozen=True, slots=True)
class Tiles:
    """Pairs of loops that become one, and how the operands lie that they read."""

    op: Structured
    inner_of: Pairs
    layouts: Mapping[int, Layout]
    """By place among the maps; operands that no pair reads are left out."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """Of the new loops, by the outer ones; all tiles together where nothing is said."""

    def whole(self, outer: int) -> int:
        """The points of all tiles."""
        return self.op.domain[outer] * self.op.domain[self.inner_of[outer]]

    def size(self, outer: int) -> int:
        """The points of the new loop."""
        return self.sizes.get(outer, self.whole(outer))

    @property
    def padded(self) -> tuple[int, ...]:
        """The pairs whose new loop leaves something out."""
        return tuple(o for o in self.inner_of if self.size(o) != self.whole(o))

    def tiled(self, place: int) -> tuple[int, ...]:
        """The pairs that read an operand in dims of their own, by their outer loops."""
        return tuple(o for o in self.inner_of if any(f.plain_dim == o for f in self.op.maps[place]))


def tiles_of(op: Structured, known: Known, pairs: Pairs) -> Tiles | Refusal:
    """The pairs with layouts of all operands; what is known of these comes first."""
    bare = Tiles(op, pairs, {})
    layouts: dict[int, Layout] = {}
    for place, index_map in enumerate(op.maps):
        read = bare.tiled(place)
        if not read:
            continue
        if place in known and len(known[place].layout.inner_tiles) == len(read):
            layouts[place] = known[place].layout
            continue
        layout = layout_of(index_map, pairs, op.domain)
        if isinstance(layout, Refusal):
            return layout
        layouts[place] = layout
    return Tiles(op, pairs, layouts)


def untiled(graph: Graph, tiles: Tiles, builder: GraphBuilder) -> Structured:
    """Add unpacks of the operands and the op over whole dims, whose results are new."""
    op = tiles.op
    inner = {*tiles.inner_of.values()}
    loops = [d for d in range(len(op.domain)) if d not in inner]
    number = {old: new for new, old in enumerate(loops)}

    def merged(form: Affine) -> Affine:
        for outer, inner in tiles.inner_of.items():
            if is_whole(form, outer, inner, op.domain[inner]):
                step = form.coefficient(inner)
                others = [(d, c) for d, c in form.terms if d not in (outer, inner)]
                form = affine([*others, (outer, step)], form.offset)
        return form.renamed(number)

    def unpacked(tensor: int, place: int) -> int:
        if place not in tiles.layouts:
            return tensor
        layout, shape = tiles.layouts[place], _shape(graph, tiles, place)
        pack = pack_of(graph, tensor)
        if pack is not None:
            packed = read_through(graph, builder, pack, layout, shape)
            if packed is not None:
                return packed
        made = builder.tensor(shape, graph.types[tensor].element)
        builder.add(Unpack(tensor, made, layout))
        return made

    count = len(op.sources)
    sources = tuple(unpacked(t, place) for place, t in enumerate(op.sources))
    inits: list[Init] = []
    for place, init in enumerate(op.inits, count):
        inits.append(
            FromTensor(unpacked(init.tensor, place)) if isinstance(init, FromTensor) else init
        )
    results = tuple(
        builder.tensor(_shape(graph, tiles, place), graph.types[t].element)
        for place, t in enumerate(op.results, count)
    )
    found = replace(
        op,
        sources=sources,
        inits=tuple(inits),
        results=results,
        domain=tuple(tiles.size(d) if d in tiles.inner_of else op.domain[d] for d in loops),
        iterators=tuple(op.iterators[d] for d in loops),
        maps=tuple(
            tuple(map(merged, _logical(m, tiles.layouts.get(place))))
            for place, m in enumerate(op.maps)
        ),
        body=untiled_body(
            op.body,
            {o: Whole(number[o], op.domain[i], tiles.size(o)) for o, i in tiles.inner_of.items()},
            tiles.inner_of,
            number,
        ),
    )
    builder.add(found)
    return found


def _logical(index_map: IndexMap, layout: Layout | None) -> IndexMap:
    """The forms of the dims without tiles, in the order of the logical ones."""
    if layout is None:
        return index_map
    place = layout.outer_dims_perm.index
    return tuple(index_map[place(d)] for d in range(layout.rank))


def _shape(graph: Graph, tiles: Tiles, place: int) -> tuple[int, ...]:
    """The logical shape of an operand, padding left out as far as the loops leave it out."""
    op = tiles.op
    shape = graph.types[(*op.sources, *op.results)[place]].shape
    layout = tiles.layouts.get(place)
    if layout is None:
        return shape
    found = []
    for d in range(layout.rank):
        at = layout.outer_dims_perm.index(d)
        loop = op.maps[place][at].plain_dim
        found.append(shape[at] if loop not in tiles.inner_of else tiles.size(loop))
    return tuple(found)
