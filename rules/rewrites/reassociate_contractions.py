"""Matrix products in another order.

    (x . a) . b   ->   x . (a . b)         for any two contractions, one of which reads the other

The order decides how many multiplications there are, and how large what lies between is. Where a
and b are constants, their product is computed ahead of time: an adapter of low rank (LoRA) beside a
weight becomes a weight. Sound because products distribute over sums, up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

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
class _Way:
    """An order of three factors. They stay in the sequence in which they stand, if they can."""

    pair: tuple[_Operand, _Operand]
    """The factors that are multiplied first now."""
    third: _Operand
    leads: bool = False
    """Whether the third factor stands ahead of the pair."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A product of three factors: two of them first, the third with what they make."""

    outer: Product
    sizes: dict[int, int]
    way: _Way
    between: Loops
    """The dims of the pair's product."""
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
        (first, first_loops), (second, second_loops) = match.way.pair
        third, third_loops = match.way.third
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
        factors = ((third, third_loops), (between, match.between))
        (left, left_loops), (right, right_loops) = factors if match.way.leads else factors[::-1]
        kinds = {third: graph.types[third].element, between: element}
        outside = contraction(
            (left, right),
            (left_loops, right_loops, match.outer.loops[2]),
            match.outer.result,
            match.sizes,
            (kinds[left], kinds[right], element),
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
        one, two = (
            (t, tuple(number[d] for d in own))
            for t, own in zip(inner.factors, inner.loops[:2], strict=True)
        )
        other = (outer.factors[1 - position], outer.loops[1 - position])
        before = points(inner.sizes, inner.sizes) + points(outer.sizes, outer.sizes)
        ways: tuple[_Way, _Way]
        if position == 0:  # (one two) other
            ways = (_Way((two, other), one, leads=True), _Way((one, other), two))
        else:  # other (one two)
            ways = (_Way((other, one), two), _Way((other, two), one))
        chains = (_in_order(graph, outer, sizes, way, before) for way in ways)
        yield from islice(filter(None, chains), 1)


def _in_order(
    graph: Graph, outer: Product, sizes: dict[int, int], way: _Way, before: int
) -> Chain | None:
    """A pair first, where it has a sum of its own and leaves one."""
    result = outer.loops[2]
    (_, one), (_, two) = way.pair
    third = way.third[1]
    loops = tuple(dict.fromkeys((*one, *two)))
    between = tuple(d for d in loops if d in (*third, *result))
    if len(between) == len(loops) or {*third, *between} <= {*result}:
        return None
    constant = all(t in graph.constants for t, _ in way.pair)
    after = points(sizes, (*third, *between, *result))
    if not constant:
        after += points(sizes, loops)
    return Chain(outer, sizes, way, between, constant, before, after)
