"""A contraction that reads repeated elements, as one that reads each of them once.

    contraction(repeat(k), q)   ->   collapse(contraction(k, expand(q)))      h = (kv, g)

Grouped queries share keys and values: exporters repeat these for each query of a group and multiply
batch by batch. Over two loops in place of one, keys are read where they lie, and a group of queries
is the rows of one matmul. Sound because a loop split in row-major order runs over the same points,
and point (a, b) of a repetition is its element a.

It saves memory that is written and read, which counts where that is most of what a contraction goes
through: a few queries of many keys, as in decoding. Of a prompt, scores are larger than keys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, copy_body
from layoutopt.ir.size import planned
from layoutopt.rules.rewrites.expansion import Expansion, read_otherwise
from layoutopt.rules.rewrites.repeats import Repeated, repeated
from layoutopt.rules.rule import EveryProducer, Evidence, Exactness, Example, Expression

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


@dataclass(frozen=True, slots=True)
class Shared:
    """A contraction, and the operand that repeats along one of its loops."""

    op: Structured
    place: int
    repeated: Repeated
    loop: int


def _example(
    *, turned: bool = False, first: bool = False, summed: bool = False, rows: int = 1
) -> Graph:
    """Two heads of five keys of four numbers, each for three heads of ``rows`` queries.

    ``turned``: keys are doubled and transposed behind the repetition. ``first``: all heads come
    after each other, three times. ``summed``: the sum runs over the repetitions too.
    """
    builder = GraphBuilder()
    k, q = builder.tensor((2, 5, 4), "f32"), builder.tensor((6, rows, 4), "f32")
    shape = (3, 2, 5, 4) if first else (2, 3, 5, 4)
    spread = builder.tensor(shape, "f32")
    read = plain_map((1, 2, 3) if first else (0, 2, 3))
    builder.add(
        Structured(
            (k,), (Uninitialized(),), (spread,), shape, (_P,) * 4, (read, identity_map(4)),
            copy_body("f32"),
        )
    )  # fmt: skip
    keys = builder.tensor((6, 5, 4), "f32")
    builder.add(Reshape(spread, keys))
    order = (0, 2, 3)
    if turned:
        turned_keys, doubled = builder.tensor((6, 4, 5), "f32"), builder.tensor((6, 4, 5), "f32")
        builder.add(
            Structured(
                (keys,), (Uninitialized(),), (turned_keys,), (6, 4, 5), (_P,) * 3,
                (plain_map((0, 2, 1)), identity_map(3)), copy_body("f32"),
            )
        )  # fmt: skip
        twice = Body(("f32", "f32"), (ScalarOp("arith.addf", (0, 0), "f32"),), (2,))
        builder.add(
            Structured(
                (turned_keys,), (Uninitialized(),), (doubled,), (6, 4, 5), (_P,) * 3,
                (identity_map(3), identity_map(3)), twice,
            )
        )  # fmt: skip
        keys, order = doubled, (0, 3, 2)
    result = builder.tensor((rows, 5) if summed else (6, rows, 5), "f32")
    builder.add(
        Structured(
            (q, keys), (Fill("0.0 : f32"),), (result,), (6, rows, 5, 4),
            (_R if summed else _P, _P, _P, _R),
            (plain_map((0, 1, 3)), plain_map(order), plain_map((1, 2) if summed else (0, 1, 2))),
            contraction_body("f32", "f32", "f32"),
        )
    )  # fmt: skip
    return builder.build((k, q), (result,))


class ShareRepeatedOperand(EveryProducer):
    """Contractions over groups that share an operand."""

    name = "share-repeated-operand"
    summary = "contraction of repeated elements -> contraction over groups that share them"
    argument = "point (a, b) of a loop split in row-major order reads element a of what is repeated"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(_example(), 2),
        Example(_example(turned=True), 4),
        Example(_example(first=True), 2),
        Example(
            _example(summed=True),
            2,
            refusal="expected repetitions along a loop that is not summed over, but loop 0 is",
        ),
        Example(
            _example(rows=3),
            2,
            refusal="expected each repeated element to be read for at most 4 / 2 others, or "
            "sharing them saves little, but got 3",
        ),
    )

    def match(self, graph: Graph, op: int) -> Shared | None:
        """A contraction one operand of which repeats elements along a loop."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not found.is_contraction:
            return None
        for place, (tensor, index_map) in enumerate(
            zip(found.sources, found.source_maps, strict=True)
        ):
            for each in repeated(graph, tensor):
                loop = index_map[each.axis].plain_dim
                if loop is not None:
                    return Shared(found, place, each, loop)
        return None

    def guard(self, match: Shared) -> Refusal | None:
        """A loop of the result and of the other operand, read along by itself."""
        op, loop = match.op, match.loop
        if loop in op.reduction_dims:
            return Refusal(
                f"expected repetitions along a loop that is not summed over, but loop {loop} is"
            )
        others = [m for place, m in enumerate(op.maps) if place != match.place]
        if not all(any(form.plain_dim == loop for form in m) for m in others):
            return Refusal(
                "expected a loop that the other operand has too, but what is repeated is alone "
                f"along loop {loop}"
            )
        return read_otherwise(op, {loop: match.repeated.parts}) or _saves_little(match)

    def rewrite(self, graph: Graph, match: Shared) -> Expression:
        """The contraction over groups, and its result in the dims that it had."""
        builder = GraphBuilder(len(graph.types))
        once = match.repeated.once(graph, builder)
        result = match.op.results[0]
        kind = graph.types[result]
        expansion = Expansion(graph, builder, match.op, {match.loop: match.repeated.parts})
        made = builder.tensor(expansion.shape(kind.shape, match.op.result_maps[0]), kind.element)
        expansion.add(made, {match.place: (once, match.repeated.own)})
        builder.add(Reshape(made, result))
        return Expression(tuple(builder.types), tuple(builder.ops))


def _saves_little(match: Shared) -> Refusal | None:
    """Whether repeated elements are less than half of what the contraction goes through."""
    op = match.op
    loops = [{d for form in index_map for d in form.dims} for index_map in op.maps]
    own = loops.pop(match.place)
    other, result = loops
    rows = math.prod(planned(op.domain[d]) for d in (other | result) - own)
    along = own - (other & result) - {match.loop}
    least = min((planned(op.domain[d]) for d in along), default=0)
    if 2 * rows <= least:
        return None
    return Refusal(
        f"expected each repeated element to be read for at most {least} / 2 others, or sharing "
        f"them saves little, but got {rows}"
    )
