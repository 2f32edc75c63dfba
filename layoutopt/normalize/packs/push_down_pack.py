"""Run an op over the tensor that was packed, and pack its result.

    op(pack(x), w)   ->   pack(op'(x, unpack(w)))

As `layoutopt.normalize.packs.bubble_up_unpack`, where the result is read in tiles. Its padding is
made again: where each operand is padded with one value, the op makes one value of these; else the
new op runs over the padding too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Pack, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.renaming import renumbered
from layoutopt.ir.scalar import is_reassociable
from layoutopt.ir.types import is_float
from layoutopt.normalize.packs.bubble_up_unpack import unfit
from layoutopt.normalize.packs.examples import packed_example
from layoutopt.normalize.packs.packed_operands import (
    Known,
    matmul_tiles,
    packed_sources,
    tile_pairs,
)
from layoutopt.normalize.packs.padding import (
    own_size,
    padding_behind,
    reduced_without_padding,
    weakest,
)
from layoutopt.normalize.packs.untiled import Tiles, tiles_of, untiled
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class PackedOp:
    """An op over tiles, and what the padding of its result holds."""

    op: Structured
    place: int
    """Of the op among those of the graph."""
    tiles: Tiles | Refusal
    padding: str | None
    exactness: Exactness


class PushDownPack:
    """Packs towards consumers."""

    name = "push-down-pack"
    summary = "op over tiles -> pack of the op over whole dims"
    argument = "an outer and an inner loop that go together in all operands are one loop"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.ASSUMES_FINITE
    part = "pack"
    examples = (
        Example(packed_example(), 1),
        Example(
            packed_example(half_read=True),
            1,
            refusal="expected each operand to be read by d0 and d1 or by neither, but one is not",
        ),
    )

    def match(self, graph: Graph, op: int) -> PackedOp | None:
        """A structured op that reads what a pack makes, or that is a matmul over tiles."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not found.sources:
            return None
        known = packed_sources(graph, found)
        if not known and not matmul_tiles(found):
            return None
        pairs = tile_pairs(found, known)
        if isinstance(pairs, Refusal):
            return PackedOp(found, op, pairs, None, self.exactness)
        tiles = tiles_of(found, known, pairs)
        if isinstance(tiles, Refusal):
            return PackedOp(found, op, tiles, None, self.exactness)
        return _sized(graph, op, tiles, known)

    def guard(self, match: PackedOp) -> Refusal | None:
        """Loops that are pairs."""
        return match.tiles if isinstance(match.tiles, Refusal) else unfit(match.tiles)

    def exactness_of(self, match: PackedOp) -> Exactness:
        """Only where padding beside zeros is left out, factors have to be finite."""
        return match.exactness

    def rewrite(self, graph: Graph, match: PackedOp) -> Expression:
        """The op over whole dims, and packs of its results."""
        assert isinstance(match.tiles, Tiles)
        builder = GraphBuilder(len(graph.types))
        new = untiled(graph, match.tiles, builder)
        packs: list[Pack] = []
        same: dict[int, int] = {}
        first = len(match.op.sources)
        for place, (made, result) in enumerate(
            zip(new.results, match.op.results, strict=True), first
        ):
            layout = match.tiles.layouts.get(place)
            if layout is None:
                same[made] = result
            else:
                padded = layout.pads(builder.types[made - len(graph.types)].shape)
                packs.append(Pack(made, result, layout, match.padding if padded else None))
        number = {t: same.get(t, t) for o in builder.ops for t in (*o.inputs, *o.outputs)}
        ops = (renumbered(o, number) for o in builder.ops)
        return Expression(tuple(builder.types), (*ops, *packs), stands_for=match.place)


def _sized(graph: Graph, place: int, tiles: Tiles, known: Known) -> PackedOp:
    """The op with loops as short as the padding around it allows."""
    op = tiles.op
    steps: list[Exactness] = []
    reduced: dict[int, int] = {}
    parallel: dict[int, int] = {}
    for outer in tiles.inner_of:
        size = own_size(tiles, known, outer)
        if op.iterators[outer] is IteratorType.PARALLEL:
            parallel[outer] = tiles.whole(outer) if size is None else size
            continue
        floats = any(map(is_float, op.body.arguments[len(op.sources) :]))
        steps.append(Exactness.REASSOCIATES if floats else Exactness.BIT_EXACT)
        exact = reduced_without_padding(tiles, known, outer)
        if size is not None and size != tiles.whole(outer) and exact is not None:
            reduced[outer] = size
            steps.append(exact)
    short = replace(tiles, sizes=reduced | parallel)
    if not any(o in short.padded for o in parallel):
        return PackedOp(op, place, short, None, weakest(steps))
    padding = None
    if not op.reduction_dims or (op.is_contraction and is_reassociable(op.body, 1)):
        padding = padding_behind(short, known, graph.splats)
    if padding is None:
        return PackedOp(op, place, replace(tiles, sizes=reduced), None, weakest(steps))
    if op.is_contraction and is_float(op.body.arguments[-1]):
        steps.append(Exactness.ASSUMES_FINITE)
    return PackedOp(op, place, short, padding, weakest(steps))
