"""Matrix products in another order.

    (x . a) . b   ->   x . (a . b)         for any two contractions, one of which reads the other

The order decides how many multiplications there are, and how large what lies between is. Where a
and b are constants, their product is computed ahead of time: an adapter of low rank (LoRA) beside a
weight becomes a weight. Sound because products distribute over sums, up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from layoutopt.ir.graph import Graph, GraphBuilder
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.product import (
    Loops,
    Product,
    contraction,
    made_by_product,
    points,
    product_of,
)
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression, over_budget

_MOST_AHEAD = 1 << 26
"""Elements of a product of weights at most: it takes their place in memory."""

_Operand = tuple[int, Loops]


@dataclass(frozen=True, slots=True)
class Chain:
    """A product of three factors: two of them first, the third with what they make."""

    outer: Product
    sizes: dict[int, int]
    pair: tuple[_Operand, _Operand]
    """The factors that are multiplied first now."""
    between: Loops
    """The dims of their product."""
    third: _Operand
    constant: bool
    """Whether the pair is constant."""
    before: int
    """Multiplications as it came."""
    after: int
    """Multiplications at run time in the other order."""


def _example(sizes: tuple[int, int, int, int]) -> Graph:
    """Tensors 0 to 2, of these numbers of rows and columns, multiplied from the left."""
    builder = GraphBuilder()
    m, k, r, n = sizes
    x, a, b = (builder.tensor(shape, "f32") for shape in ((m, k), (k, r), (r, n)))
    t, y = builder.tensor((m, r), "f32"), builder.tensor((m, n), "f32")
    kinds = ("f32",) * 3
    builder.add(contraction((x, a), ((0, 2), (2, 1), (0, 1)), t, {0: m, 1: r, 2: k}, kinds))
    builder.add(contraction((t, b), ((0, 2), (2, 1), (0, 1)), y, {0: m, 1: n, 2: r}, kinds))
    return builder.build((x, a, b), (y,))


class ReassociateContractions:
    """The other order of two contractions."""

    name = "reassociate-contractions"
    summary = "(x . a) . b -> x . (a . b)"
    argument = "products distribute over sums: both are the sum of x a b over both loops"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    examples = (
        Example(_example((6, 5, 6, 2)), 1),
        Example(
            _example((2, 8, 2, 8)),
            1,
            refusal="expected at most 128 multiplications, the budget of twice as many as there "
            "were, but got 256",
        ),
    )

    def match(self, graph: Graph, op: int) -> Chain | None:
        """A contraction that reads another one's result."""
        outer = product_of(graph.ops[op])
        if outer is None or outer.result in graph.constants:
            return None
        return min(_chains(graph, outer), key=lambda chain: chain.after, default=None)

    def guard(self, match: Chain) -> Refusal | None:
        """Neither far more multiplications nor weights that outgrow memory."""
        if match.constant:
            made = points(match.sizes, match.between)
            return over_budget(made, _MOST_AHEAD, "elements", "weights made ahead of time")
        most = 2 * match.before
        return over_budget(match.after, most, "multiplications", "twice as many as there were")

    def rewrite(self, graph: Graph, match: Chain) -> Expression:
        """The pair first, then the third factor."""
        (first, first_loops), (second, second_loops) = match.pair
        third, third_loops = match.third
        element = graph.types[match.outer.result].element
        builder = GraphBuilder(len(graph.types))
        between = builder.tensor((match.sizes[d] for d in match.between), element)
        inside = contraction(
            (first, second),
            (first_loops, second_loops, match.between),
            between,
            match.sizes,
            (graph.types[first].element, graph.types[second].element, element),
        )
        builder.add(replace(inside, ahead=match.constant))
        outside = contraction(
            (third, between),
            (third_loops, match.between, match.outer.loops[2]),
            match.outer.result,
            match.sizes,
            (graph.types[third].element, element, element),
        )
        builder.add(replace(outside, inits=match.outer.op.inits))
        return Expression(tuple(builder.types), tuple(builder.ops))


def _chains(graph: Graph, outer: Product) -> Iterator[Chain]:
    """The other orders of a product and one that it reads."""
    for position, tensor in enumerate(outer.factors):
        if tensor in graph.constants:
            continue
        inner = made_by_product(graph, tensor)
        if inner is None or graph.types[tensor].element != graph.types[outer.result].element:
            continue
        number = dict(zip(inner.loops[2], outer.loops[position], strict=True))
        first = len(outer.op.domain)
        number |= {d: first + i for i, d in enumerate(inner.op.reduction_dims)}
        sizes = {**outer.sizes} | {number[d]: size for d, size in inner.sizes.items()}
        inside = [
            (t, tuple(number[d] for d in own))
            for t, own in zip(inner.factors, inner.loops, strict=False)
        ]
        other = (outer.factors[1 - position], outer.loops[1 - position])
        before = points(inner.sizes, inner.sizes) + points(outer.sizes, outer.sizes)
        for one, third in (inside, inside[::-1]):
            chain = _in_order(graph, outer, sizes, (one, other), third, before)
            if chain is not None:
                yield chain


def _in_order(
    graph: Graph,
    outer: Product,
    sizes: dict[int, int],
    pair: tuple[_Operand, _Operand],
    third: _Operand,
    before: int,
) -> Chain | None:
    """A pair first, where it has a sum of its own and leaves one."""
    result = outer.loops[2]
    loops = tuple(dict.fromkeys((*pair[0][1], *pair[1][1])))
    between = tuple(d for d in loops if d in (*third[1], *result))
    if len(between) == len(loops) or {*third[1], *between} <= {*result}:
        return None
    constant = all(t in graph.constants for t, _ in pair)
    after = points(sizes, (*third[1], *between, *result))
    if not constant:
        after += points(sizes, loops)
    return Chain(outer, sizes, pair, between, third, constant, before, after)
