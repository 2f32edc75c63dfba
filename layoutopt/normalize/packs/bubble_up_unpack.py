"""Unpack what an op over tiles reads, and run it over whole dims.

    unpack(op(x, w))   ->   op'(unpack(x), unpack(w))

An op whose loops come in pairs, an outer and an inner one in each operand, is the op over whole
dims: which elements it reads for one of its results does not change. Padding is left out: of the
result no part of it is read, and of what is summed over it changes nothing (zeros as factors, the
neutral element of a reduction), which a pack has to say. Assumes finite factors beside zeros.
Where other ops read the tiles as well, the op stays: it would run twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Reshape, Structured, Unpack
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import is_reassociable
from layoutopt.ir.types import is_float
from layoutopt.normalize.packs.examples import unpacked_example
from layoutopt.normalize.packs.packed_operands import (
    PackedOperand,
    packed_sources,
    tile_pairs,
)
from layoutopt.normalize.packs.padding import (
    own_size,
    reduced_without_padding,
    weakest,
)
from layoutopt.normalize.packs.untiled import Tiles, tiles_of, untiled
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class UnpackedOp:
    """An unpack, and the op over tiles that it reads."""

    unpack: Unpack
    place: int
    """Of the op among those of the graph."""
    tiles: Tiles | Refusal
    exactness: Exactness
    others: int
    """Readers of the tiles that do not unpack them in this way."""


class BubbleUpUnpack:
    """Unpacks towards producers."""

    name = "bubble-up-unpack"
    summary = "unpack of an op over tiles -> op over whole dims of unpacked operands"
    argument = "an outer and an inner loop that go together in all operands are one loop"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.ASSUMES_FINITE
    part = "unpack"
    examples = (
        Example(unpacked_example(), 1),
        Example(
            unpacked_example(also_read=True),
            1,
            refusal="expected equal unpacks to be all that read the tiles, for the op would run "
            "twice, but 1 other op does",
        ),
    )

    def match(self, graph: Graph, op: int) -> UnpackedOp | None:
        """An unpack of what one structured op makes."""
        unpack = graph.ops[op]
        if not isinstance(unpack, Unpack):
            return None
        tensor = unpack.source
        places = graph.producers[tensor]
        maker, place = (graph.ops[places[0]], places[0]) if len(places) == 1 else (None, -1)
        if not isinstance(maker, Structured) or len(maker.results) != 1:
            return None
        kind = graph.types[unpack.result]
        others = sum(
            not _is_equal(graph, graph.ops[reader], unpack) for reader in graph.consumers[tensor]
        )
        others += tensor in graph.outputs
        known = packed_sources(graph, maker)
        known[len(maker.sources)] = PackedOperand(unpack.layout, kind.shape)
        pairs = tile_pairs(maker, known)
        tiles = pairs if isinstance(pairs, Refusal) else tiles_of(maker, known, pairs)
        if isinstance(tiles, Refusal):
            return UnpackedOp(unpack, place, tiles, self.exactness, others)
        steps = [Exactness.BIT_EXACT]
        sizes: dict[int, int] = {}
        for outer in tiles.inner_of:
            if maker.iterators[outer] is IteratorType.PARALLEL:
                result = {len(maker.sources): known[len(maker.sources)]}
                sizes[outer] = own_size(tiles, result, outer) or tiles.whole(outer)
                continue
            steps.append(_in_any_order(maker))
            size = own_size(tiles, known, outer)
            exact = reduced_without_padding(tiles, known, outer)
            if size is not None and size != tiles.whole(outer) and exact is not None:
                sizes[outer] = size
                steps.append(exact)
        return UnpackedOp(unpack, place, replace(tiles, sizes=sizes), weakest(steps), others)

    def guard(self, match: UnpackedOp) -> Refusal | None:
        """Loops that are pairs, and no other readers."""
        if isinstance(match.tiles, Refusal):
            return match.tiles
        return unfit(match.tiles) or _read_by_others(match.others)

    def exactness_of(self, match: UnpackedOp) -> Exactness:
        """Only where padding beside zeros is left out, factors have to be finite."""
        return match.exactness

    def rewrite(self, graph: Graph, match: UnpackedOp) -> Expression:
        """The op over whole dims, and its result under the name of the unpacked one."""
        assert isinstance(match.tiles, Tiles)
        builder = GraphBuilder(len(graph.types))
        found = untiled(graph, match.tiles, builder)
        builder.add(Reshape(found.results[0], match.unpack.result))
        return Expression(tuple(builder.types), tuple(builder.ops), stands_for=match.place)


def unfit(tiles: Tiles) -> Refusal | None:
    """Why an op over tiles cannot run over whole dims."""
    op = tiles.op
    if not tiles.inner_of:
        return Refusal("expected an op over tiles, but none of its loops are a pair")
    if not is_reassociable(op.body, len(op.results)) and not _keeps_order(tiles):
        return Refusal(
            "expected a reduction in any order, but it depends on the order of its loops"
        )
    return None


def _keeps_order(tiles: Tiles) -> bool:
    """Whether points come in their order: each inner loop right behind its outer one."""
    op = tiles.op
    moving = [d for d in op.reduction_dims if op.domain[d] != 1]
    return all(
        moving.index(inner) == moving.index(outer) + 1
        for outer, inner in tiles.inner_of.items()
        if outer in moving and inner in moving
    )


def _in_any_order(op: Structured) -> Exactness:
    floats = any(map(is_float, op.body.arguments[len(op.sources) :]))
    return Exactness.REASSOCIATES if floats else Exactness.BIT_EXACT


def _is_equal(graph: Graph, reader: object, unpack: Unpack) -> bool:
    return (
        isinstance(reader, Unpack)
        and reader.layout == unpack.layout
        and graph.types[reader.result] == graph.types[unpack.result]
    )


def _read_by_others(count: int) -> Refusal | None:
    if not count:
        return None
    ops = "1 other op does" if count == 1 else f"{count} other ops do"
    return Refusal(
        "expected equal unpacks to be all that read the tiles, for the op would run twice, "
        f"but {ops}"
    )
