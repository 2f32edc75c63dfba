"""Attention, taken apart: scores, their softmax, and the values that it weighs.

    attention(q, k, v, mask)   ->   contraction(softmax(scale * contraction(q, k) + mask), v)

One op where it came as one hides its two contractions from layouts, packings and schedules; IREE
3.13 runs it on a CPU ten times as long as its parts. Sound because this is what the op means, up to
rounding: parts have scores and shares in the type of the op's scores, of which it says no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.extensions.softmax import Softmax
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Op,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, lowest, scalar_constant
from layoutopt.ir.types import TensorType
from layoutopt.rules.rewrites.product import contraction
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_P = IteratorType.PARALLEL


@dataclass(frozen=True, slots=True)
class Parts:
    """An attention over plain dims, and the type of its scores."""

    op: Attention
    types: tuple[TensorType, ...]
    """Of its sources, and of its result."""


def _example(place: int, mask: str | None = None, along: int = 1) -> Graph:
    """One of the op's own examples; ``along``: loops that the softmax runs along."""
    op, types = Attention.examples()[place]
    if along == 2:  # a second loop of keys and values
        maps = ((0, 1, 3), (0, 4, 5, 3), (0, 4, 5, 2), (0, 1, 2))
        op = Attention(op.sources, op.results, maps, op.scale, op.score)
        shapes = ((2, 6, 8), (2, 5, 2, 8), (2, 5, 2, 4), (2, 6, 4))
        types = tuple(TensorType(shape, "f32") for shape in shapes)
    return Graph(tuple(types), (op,), op.sources, op.results)


class AttentionToContractions:
    """One op as contractions with a softmax between them."""

    name = "attention-to-contractions"
    summary = "attention -> contraction of queries and keys + softmax + contraction with values"
    argument = "the definition of the op; the softmax runs along the one loop of keys and values"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    examples = (
        Example(_example(0), 0),
        Example(_example(1), 0),
        Example(_example(2), 0),
        Example(
            _example(0, along=2),
            0,
            refusal="expected a softmax along one dim, but it runs along 2",
        ),
    )

    def match(self, graph: Graph, op: int) -> Parts | None:
        """Any attention that did not come as its parts."""
        found = graph.ops[op]
        if not isinstance(found, Attention) or found.joined:
            return None
        return Parts(found, tuple(graph.types[t] for t in (*found.inputs, *found.outputs)))

    def guard(self, match: Parts) -> Refusal | None:
        """A softmax along one dim."""
        along = len(match.op.softmax_axes)
        if along != 1:
            return Refusal(f"expected a softmax along one dim, but it runs along {along}")
        return None

    def rewrite(self, graph: Graph, match: Parts) -> Expression:
        """Scores in the op's own type, shares in that of the values."""
        op, score = match.op, match.op.score
        query, key, value, *mask = op.sources
        builder = GraphBuilder(len(graph.types))
        sizes = op.sizes(match.types)
        scored = op.scored
        shape = tuple(sizes[d] for d in scored)
        products, scaled, shares = (builder.tensor(shape, score) for _ in range(3))
        builder.add(
            contraction(
                (query, key), (op.maps[0], op.maps[1], scored), products, sizes,
                (graph.types[query].element, graph.types[key].element, score),
            )
        )  # fmt: skip
        place = {d: i for i, d in enumerate(scored)}
        kinds = [graph.types[m].element for m in mask]
        builder.add(
            Structured(
                (products, *mask), (Uninitialized(),), (scaled,), shape, (_P,) * len(shape),
                (
                    identity_map(len(shape)),
                    *(plain_map(place[d] for d in op.maps[3]) for _ in mask),
                    identity_map(len(shape)),
                ),
                _scaling(op, score, kinds),
            )
        )  # fmt: skip
        builder.add(Softmax((scaled,), (shares,), op.softmax_axes[0]))
        narrow = _cast(builder, shares, graph.types[value], score)
        result = match.types[-1]
        wide = op.results[0] if result.element == score else builder.tensor(result.shape, score)
        builder.add(
            contraction(
                (narrow, value), (scored, op.maps[2], op.maps[-1]), wide, sizes,
                (graph.types[value].element, graph.types[value].element, score),
            )
        )  # fmt: skip
        if wide != op.results[0]:
            builder.add(_casting(wide, op.results[0], result.shape, score, result.element))
        return Expression(tuple(builder.types), tuple(builder.ops), rounds=True)


def _scaling(op: Attention, score: str, masks: Sequence[str]) -> Body:
    """``score * scale + mask``; where the mask is a truth value, scores that do not count go."""
    arguments = (score, *masks, score)
    value = len(arguments)
    number = op.scale.split(":")[0].strip()
    ops = [
        scalar_constant(f"{number} : {score}", score),
        ScalarOp("arith.mulf", (0, value), score),
    ]
    for mask in masks:
        before = len(arguments) + len(ops) - 1
        if mask == "i1":
            ops.append(scalar_constant(lowest(score), score))
            ops.append(ScalarOp("arith.select", (1, before, before + 1), score))
            continue
        added = 1
        if mask != score:
            ops.append(ScalarOp("arith.extf", (1,), score))
            added = before + 1
        ops.append(ScalarOp("arith.addf", (before, added), score))
    return Body(arguments, tuple(ops), (len(arguments) + len(ops) - 1,))


def _cast(builder: GraphBuilder, tensor: int, like: TensorType, element: str) -> int:
    """Shares in the element type of the values."""
    if like.element == element:
        return tensor
    shape = builder.types[-1].shape
    result = builder.tensor(shape, like.element)
    builder.add(_casting(tensor, result, shape, element, like.element))
    return result


def _casting(source: int, result: int, shape: tuple[int, ...], wide: str, narrow: str) -> Op:
    return Structured(
        (source,),
        (Uninitialized(),),
        (result,),
        shape,
        (_P,) * len(shape),
        (identity_map(len(shape)),) * 2,
        Body((wide, narrow), (ScalarOp("arith.truncf", (0,), narrow),), (2,)),
    )
