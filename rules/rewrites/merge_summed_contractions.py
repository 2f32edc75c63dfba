"""Sums of contractions of one tensor with weights of their own, as one contraction.

    contraction(x, w1) + b1 + contraction(x, w2)          ->   contraction(x, w1 + w2) + b1
    convolution(pad(x), w1) + convolution(x, w2)          ->   convolution(pad(x), w1 + pad(w2))

Branches that a model adds up: a weight and its adapter of low rank, the convolutions of 3x3 and 1x1
of a RepVGG block. Sound because products distribute over sums, up to rounding; a filter's margin of
zeros assumes finite values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

from layoutopt.ir.affine import affine, identity_map, plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, IteratorType, Pad, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body
from layoutopt.rules.rewrites.examples import filled
from layoutopt.rules.rewrites.margin import Margin
from layoutopt.rules.rewrites.sums import (
    Summand,
    Weighted,
    added,
    differ_in_weights,
    is_sum,
    margin_of,
    permutation,
    summands,
    weighted,
)
from layoutopt.rules.rule import EveryProducer, Evidence, Exactness, Example, Expression

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


@dataclass(frozen=True, slots=True)
class Summed:
    """Two contractions that a sum adds up, and what else it does."""

    op: Structured
    first: Weighted
    second: Weighted
    order: tuple[int, ...]
    """For each dim of the second's weights the same dim of the first's."""
    margin: Margin | None
    """Of zeros that the second's weights get, where they are the smaller ones."""
    others: tuple[Summand, ...]
    constant: bool
    """Whether both weights are."""


def _example(*, constant: bool) -> Graph:
    """``x . w1 + (b + x . w2)``, where ``w2`` is transposed."""
    builder = GraphBuilder()
    x, b = builder.tensor((3, 4), "f32"), builder.tensor((3, 5), "f32")
    weights = [builder.tensor(shape, "f32") for shape in ((4, 5), (5, 4))]
    parts = [builder.tensor((3, 5), "f32") for _ in weights]
    inner, y = builder.tensor((3, 5), "f32"), builder.tensor((3, 5), "f32")
    for w, value in zip(weights, ("2.0 : f32", "3.0 : f32"), strict=True) if constant else ():
        builder.add(filled(w, (5, 4) if w == weights[1] else (4, 5), value))
    for w, part, read in zip(weights, parts, ((2, 1), (1, 2)), strict=True):
        builder.add(
            Structured(
                (x, w), (Fill("0.0 : f32"),), (part,), (3, 5, 4), (_P, _P, _R),
                (plain_map((0, 2)), plain_map(read), plain_map((0, 1))),
                contraction_body("f32", "f32", "f32"),
            )
        )  # fmt: skip
    whole = identity_map(2)
    for pair, result in (((b, parts[1]), inner), ((parts[0], inner), y)):
        builder.add(added([Summand(t, whole) for t in pair], result, (3, 5), "f32"))
    return builder.build((x, b) if constant else (x, b, *weights), (y,))


def _branches() -> Graph:
    """``conv(pad(x), w of 3) + conv(x, w of 1)`` along rows of four elements."""
    builder = GraphBuilder()
    x, padded = builder.tensor((4, 2), "f32"), builder.tensor((6, 2), "f32")
    filters = [builder.tensor((n, 2, 3), "f32") for n in (3, 1)]
    parts = [builder.tensor((4, 3), "f32") for _ in filters]
    y = builder.tensor((4, 3), "f32")
    builder.add(Pad(x, padded, (1, 0), (1, 0), "0.0 : f32"))
    for w, n in zip(filters, (3, 1), strict=True):
        builder.add(filled(w, (n, 2, 3), f"{n}.0 : f32"))
    for image, w, part, n in zip((padded, x), filters, parts, (3, 1), strict=True):
        read = (affine([(0, 1), (2, 1)]), *plain_map((3,)))
        builder.add(
            Structured(
                (image, w), (Fill("0.0 : f32"),), (part,), (4, 3, n, 2), (_P, _P, _R, _R),
                (read, plain_map((2, 3, 1)), plain_map((0, 1))),
                contraction_body("f32", "f32", "f32"),
            )
        )  # fmt: skip
    whole = identity_map(2)
    builder.add(added([Summand(part, whole) for part in parts], y, (4, 3), "f32"))
    return builder.build((x,), (y,))


class MergeSummedContractions(EveryProducer):
    """One contraction with the sum of the weights."""

    name = "merge-summed-contractions"
    summary = "contraction(x, w1) + b + contraction(x, w2) -> contraction(x, w1 + w2) + b"
    argument = "products distribute over sums"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    examples = (
        Example(_example(constant=True), 5),
        Example(_branches(), 5),
        Example(
            _example(constant=False),
            3,
            refusal="expected weights that are constants, but got some that are computed",
        ),
    )

    def match(self, graph: Graph, op: int) -> Summed | None:
        """A sum with two contractions of one tensor in it; those with constants come first."""
        found = graph.ops[op]
        if not is_sum(found) or found.outputs[0] in graph.constants:
            return None
        assert isinstance(found, Structured)  # a sum
        return max(
            _pairs(graph, found, tuple(summands(graph, found))),
            key=lambda pair: pair.constant,
            default=None,
        )

    def guard(self, match: Summed) -> Refusal | None:
        """Weights that are added up ahead of time."""
        if not match.constant:
            return Refusal("expected weights that are constants, but got some that are computed")
        return None

    def rewrite(self, graph: Graph, match: Summed) -> Expression:
        """The sum of the weights, the contraction, and what is left of the sum."""
        builder = GraphBuilder(len(graph.types))
        first, second = match.first, match.second
        kind = graph.types[first.weights]
        smaller = second.weights
        if match.margin is not None:
            smaller = builder.tensor(kind.shape, kind.element)
            zero = f"{'0' if kind.element.startswith('i') else '0.0'} : {kind.element}"
            around = match.margin
            builder.add(Pad(second.weights, smaller, around.low, around.high, zero))
        weights = builder.tensor(kind.shape, kind.element)
        pair = (
            Summand(first.weights, identity_map(len(kind.shape))),
            Summand(smaller, plain_map(match.order)),
        )
        builder.add(replace(added(pair, weights, kind.shape, kind.element), ahead=True))
        (result,) = match.op.results
        made = graph.types[result]
        merged = builder.tensor(made.shape, made.element) if match.others else result
        sources = list(first.op.sources)
        sources[first.position] = weights
        if match.margin is not None and match.margin.image is not None:
            image = graph.types[first.tensor]
            padded = builder.tensor(image.shape, image.element)
            builder.add(replace(match.margin.image, result=padded))
            sources[1 - first.position] = padded
        builder.add(replace(first.op, sources=tuple(sources), results=(merged,)))
        if match.others:
            whole = Summand(merged, identity_map(len(made.shape)))
            builder.add(added((whole, *match.others), result, match.op.domain, made.element))
        return Expression(tuple(builder.types), tuple(builder.ops))


def _pairs(graph: Graph, op: Structured, summed: Sequence[Summand]) -> Iterator[Summed]:
    """All pairs of summands that are contractions of one tensor."""
    whole = identity_map(len(op.domain))
    places = [i for i, summand in enumerate(summed) if summand.forms == whole]
    for i, j in permutations(places, 2):
        others = tuple(s for place, s in enumerate(summed) if place not in (i, j))
        for one, other in product(*(weighted(graph, summed[place].tensor) for place in (i, j))):
            weights = one.weights, other.weights
            kinds = [graph.types[t].element for t in (*weights, *op.results)]
            constant = all(t in graph.constants for t in weights)
            if len({*kinds}) > 1:
                continue
            if i < j and differ_in_weights(one, other):
                order = permutation(one, other)
                if order is not None:
                    yield Summed(op, one, other, order, None, others, constant)
            around = margin_of(graph, other, one)
            if around is not None:
                order = tuple(range(len(around.low)))
                yield Summed(op, one, other, order, around, others, constant)
