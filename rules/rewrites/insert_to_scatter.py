"""An insert into a tensor of one value is a scatter with that background.

    insert(x, fill(v), offsets, strides)   ->   scatter(x, offsets, strides, v)

Sound by definition. The scatter carries its background, so that it is written, and priced, as one
thing instead of a copy of a filled tensor.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    Insert,
    IteratorType,
    Scatter,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import fill_body
from layoutopt.rules.rewrites.interior_padding import splat_of, typed
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


def _example(filled: bool) -> Graph:
    builder = GraphBuilder()
    x, into, y = (builder.tensor(s, "f32") for s in ((2, 3), (5, 3), (5, 3)))
    if filled:
        builder.add(
            Structured(
                (),
                (Uninitialized(),),
                (into,),
                (5, 3),
                (IteratorType.PARALLEL,) * 2,
                (identity_map(2),),
                fill_body("4.0 : f32", "f32"),
            )
        )
    builder.add(Insert(x, into, y, (1, 0), (2, 1)))
    return builder.build((x,) if filled else (x, into), (y,))


@dataclass(frozen=True, slots=True)
class SplatInsert:
    """An insert with a stride, and the one value of its destination."""

    op: Insert
    background: str | None


class InsertToScatter:
    """Strided insert_slice -> scatter."""

    name = "insert-to-scatter"
    summary = "strided insert into a fill -> scatter with a background"
    argument = "both hold the source at offsets + strides * i and the fill's value elsewhere"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(_example(filled=True), 1),
        Example(
            _example(filled=False),
            0,
            refusal="expected a destination of one value, but got a tensor that is computed",
        ),
    )

    def match(self, graph: Graph, op: int) -> SplatInsert | None:
        """An insert with some stride."""
        found = graph.ops[op]
        if not isinstance(found, Insert) or all(s == 1 for s in found.strides):
            return None
        value = splat_of(graph, found.destination)
        element = graph.types[found.destination].element
        return SplatInsert(found, None if value is None else typed(value, element))

    def guard(self, match: SplatInsert) -> Refusal | None:
        """The destination must be one value."""
        if match.background is not None:
            return None
        return Refusal("expected a destination of one value, but got a tensor that is computed")

    def rewrite(self, graph: Graph, match: SplatInsert) -> Expression:
        """The same as one op."""
        op = match.op
        return Expression(
            (),
            (Scatter((op.source,), op.result, (op.offsets,), op.strides, match.background),),
        )
