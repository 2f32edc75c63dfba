"""Write packs and unpacks as what they are made of, which layouts pass through.

    pack(x)     ->   transpose(expand(pad(x)))
    unpack(x)   ->   slice(collapse(transpose(x)))

So a tensor that comes packed, or goes, is one that lies in a layout. Sound because a tile is a dim
that is split in two.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.graph import Graph, GraphBuilder, Pack, Unpack
from layoutopt.ir.packs_as_transposes import add_pack, add_unpack
from layoutopt.ir.refusal import Refusal
from layoutopt.normalize.packs.examples import packing_example
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class Relayout:
    """A pack or an unpack, and whether a pack lacks what fills the last tiles."""

    op: Pack | Unpack
    unfilled: bool


class PackToTranspose:
    """Packs as transposes of split dims."""

    name = "pack-to-transpose"
    summary = "pack, unpack -> transpose of dims split by tiles, pad or slice where they are longer"
    argument = "a tile is a dim that is split in two"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "tiles"
    examples = (
        Example(packing_example("0.0 : f32"), 0),
        Example(
            packing_example(None),
            0,
            refusal="expected a value for the last tiles, which are not whole, but got none",
        ),
    )

    def match(self, graph: Graph, op: int) -> Relayout | None:
        """Any of them."""
        found = graph.ops[op]
        if not isinstance(found, Pack | Unpack):
            return None
        unfilled = (
            isinstance(found, Pack)
            and found.padding is None
            and found.layout.pads(graph.types[found.source].shape)
        )
        return Relayout(found, unfilled)

    def guard(self, match: Relayout) -> Refusal | None:
        """What fills the last tiles is known."""
        if not match.unfilled:
            return None
        return Refusal("expected a value for the last tiles, which are not whole, but got none")

    def exactness_of(self, match: Relayout) -> Exactness:
        """The same numbers."""
        return self.exactness

    def rewrite(self, graph: Graph, match: Relayout) -> Expression:
        """The same in the graph's own ops."""
        builder = GraphBuilder(len(graph.types))
        op = match.op
        if isinstance(op, Pack):
            add_pack(builder, graph.types[op.source], op)
        else:
            add_unpack(builder, graph.types[op.result], op)
        return Expression(tuple(builder.types), tuple(builder.ops))
