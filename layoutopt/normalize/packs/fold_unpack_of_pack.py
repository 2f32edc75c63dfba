"""Take an unpack of a pack for the tensor itself.

    unpack(pack(x))   ->   x          and a slice or a pad of it, where one of the two is longer

Sound because the unpack reads each element where the pack put it. Where the dims of both have
other names, what they are is a transpose.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.graph import Graph, GraphBuilder, Pack, Reshape, Unpack
from layoutopt.ir.refusal import Refusal
from layoutopt.normalize.packs.examples import pack_unpack_example
from layoutopt.normalize.packs.packed_operands import pack_of
from layoutopt.normalize.packs.round_trip import read_through, same_dims
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """An unpack, the pack that it reads, and which dim of the one is which of the other."""

    unpack: Unpack
    pack: Pack
    places: tuple[int, ...] | None


class FoldUnpackOfPack:
    """There and back."""

    name = "fold-unpack-of-pack"
    summary = "unpack of a pack -> what was packed"
    argument = "each element is read where it was put"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "packed"
    examples = (
        Example(pack_unpack_example(), 1),
        Example(
            pack_unpack_example(other_tiles=True),
            1,
            refusal="expected an unpack of the layout that was packed, "
            "but got perm[0,1] tiles[1:4,0:8] of perm[0,1] tiles[0:4,1:8]",
        ),
    )

    def match(self, graph: Graph, op: int) -> RoundTrip | None:
        """An unpack of a pack."""
        unpack = graph.ops[op]
        if not isinstance(unpack, Unpack):
            return None
        pack = pack_of(graph, unpack.source)
        if pack is None:
            return None
        return RoundTrip(unpack, pack, same_dims(pack.layout, unpack.layout))

    def guard(self, match: RoundTrip) -> Refusal | None:
        """The same places."""
        if match.places is not None:
            return None
        return Refusal(
            "expected an unpack of the layout that was packed, "
            f"but got {match.unpack.layout} of {match.pack.layout}"
        )

    def exactness_of(self, match: RoundTrip) -> Exactness:
        """The same numbers."""
        return self.exactness

    def rewrite(self, graph: Graph, match: RoundTrip) -> Expression:
        """The tensor, transposed, padded and cut as far as that is asked for."""
        builder = GraphBuilder(len(graph.types))
        wanted = graph.types[match.unpack.result].shape
        found = read_through(graph, builder, match.pack, match.unpack.layout, wanted)
        assert found is not None
        builder.add(Reshape(found, match.unpack.result))
        return Expression(tuple(builder.types), tuple(builder.ops))
