"""Take a pack of an unpack for the packed tensor itself.

    pack(unpack(y))   ->   y

Sound where both have one layout and every tile is whole: padding would be filled anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.graph import Graph, Pack, Reshape, Unpack
from layoutopt.ir.refusal import Refusal
from layoutopt.normalize.packs.examples import unpack_pack_example
from layoutopt.normalize.packs.round_trip import same_dims
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class PackedAgain:
    """A pack, the unpack that it reads, and whether some tile is not whole."""

    pack: Pack
    unpack: Unpack
    padded: bool


class FoldPackOfUnpack:
    """Back and there."""

    name = "fold-pack-of-unpack"
    summary = "pack of an unpack -> what was unpacked"
    argument = "each element is put where it was read"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "unpacked"
    examples = (
        Example(unpack_pack_example(), 1),
        Example(
            unpack_pack_example(rows=7),
            1,
            refusal="expected whole tiles, for padding is filled anew, but one is not",
        ),
    )

    def match(self, graph: Graph, op: int) -> PackedAgain | None:
        """A pack of an unpack."""
        pack = graph.ops[op]
        makers = graph.producers[pack.source] if isinstance(pack, Pack) else ()
        unpack = graph.ops[makers[0]] if len(makers) == 1 else None
        if not isinstance(pack, Pack) or not isinstance(unpack, Unpack):
            return None
        padded = pack.layout.pads(graph.types[pack.source].shape)
        return PackedAgain(pack, unpack, padded)

    def guard(self, match: PackedAgain) -> Refusal | None:
        """The same places, all of them full."""
        places = same_dims(match.pack.layout, match.unpack.layout)
        if places is None or places != tuple(range(len(places))):
            return Refusal(
                "expected a pack into the layout that was unpacked, "
                f"but got {match.pack.layout} of {match.unpack.layout}"
            )
        if match.padded:
            return Refusal("expected whole tiles, for padding is filled anew, but one is not")
        return None

    def exactness_of(self, match: PackedAgain) -> Exactness:
        """The same numbers."""
        return self.exactness

    def rewrite(self, graph: Graph, match: PackedAgain) -> Expression:
        """The tensor under its other name."""
        return Expression((), (Reshape(match.unpack.source, match.pack.result),))
